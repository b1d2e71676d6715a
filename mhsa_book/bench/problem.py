"""One cell's numbers: weights, tokens, and the right answers in float64.

The answers come from the five stages, sequence by sequence, and do not depend on anything that
is timed. Whoever is further away than the tolerance is wrong, and is not timed.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import torch
from torch import Tensor, nn

from mhsa_book.results.cells import Cell
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.variants.grouped import standard_attention

OUTPUT = {"float32": 1e-4, "bfloat16": 4e-2}
"""The largest difference of an output that still counts as right."""

OURS = {"float32": 1e-5, "bfloat16": 4e-2}
GRADIENT = {"float32": 1e-4, "bfloat16": 5e-2}
"""The largest difference of a gradient, relative to its largest number."""

MAPS = ("W_Q", "W_K", "W_V", "W_O")


@dataclass(frozen=True)
class Loaded:
    """An implementation with our weights: a call x → y, and where its four maps are.

    ``maps`` names the rows that hold W_Q, W_K, W_V and W_O; their gradients are read there.
    ``stays_training``: it is not put into evaluation, where it would be another implementation.
    """

    call: Callable[[Tensor], Tensor]
    module: nn.Module
    maps: "dict[str, list[Rows]]"
    stays_training: bool = False


@dataclass(frozen=True)
class Rows:
    """Rows of a matrix, or with ``transposed`` columns, and the bias beside them."""

    weight: Tensor
    bias: Tensor | None
    start: int = 0
    stop: int | None = None
    transposed: bool = False

    def copy(self, weight: Tensor, bias: Tensor | None) -> None:
        """Take over somebody's rows."""
        with torch.no_grad():
            self._rows(self.weight).copy_(weight)
            if self.bias is not None:
                self.bias[self.start : self.stop] = 0.0 if bias is None else bias

    @property
    def gradient(self) -> Tensor:
        """The gradient of these rows."""
        assert self.weight.grad is not None
        return self._rows(self.weight.grad)

    @property
    def count(self) -> int:
        """How many rows these are."""
        return len(self._rows(self.weight))

    def _rows(self, t: Tensor) -> Tensor:
        return (t.mT if self.transposed else t)[self.start : self.stop]


def load(attention: MultiHeadAttention, maps: dict[str, list[Rows]]) -> dict[str, list[Rows]]:
    """Copy the weights of ``attention`` into somebody's rows."""
    for name, W in zip(MAPS, _linears(attention), strict=True):
        counts = [rows.count for rows in maps[name]]
        biases = [None] * len(counts) if W.bias is None else W.bias.split(counts)
        for rows, weight, bias in zip(maps[name], W.weight.split(counts), biases, strict=True):
            rows.copy(weight, bias)
    return maps


def attention_for(cell: Cell) -> MultiHeadAttention:
    """The five stages with biases and drawn weights, in float32; the same for every cell.

    Queries and keys are drawn larger, so that weights are peaked and a wrong mask shows.
    """
    attention = standard_attention(cell.d_model, cell.n_heads, cell.kv_heads, bias=True)
    numbers = torch.Generator("cpu").manual_seed(5)
    for name, parameter in attention.named_parameters():
        spread = 0.1
        if parameter.ndim == 2:
            spread = (1.5 if "W_Q" in name or "W_K" in name else 0.7) * cell.d_model**-0.5
        drawn = torch.randn(parameter.shape, generator=numbers, device="cpu")
        parameter.data.copy_(spread * drawn)
    return attention


@dataclass(frozen=True)
class Problem:
    """A cell with its numbers, and a judge of other people's answers."""

    cell: Cell

    @cached_property
    def attention(self) -> MultiHeadAttention:
        """Our weights, in the five stages."""
        return attention_for(self.cell)

    @cached_property
    def x(self) -> Tensor:
        """Tokens, padding included: (batch, n_tokens, d_model), float32."""
        return self._drawn(6)

    @cached_property
    def g(self) -> Tensor:
        """The gradient that comes back to y; nothing comes back to padding."""
        return self._drawn(7).masked_fill(~self.real[..., None], 0.0)

    @cached_property
    def real(self) -> Tensor:
        """True where a token is no padding: (batch, n_tokens)."""
        ends = torch.tensor(self.cell.lengths)[:, None]
        return torch.arange(self.cell.n_tokens) < ends

    @property
    def answers(self) -> dict[str, Tensor]:
        """y, the gradient of x and those of the four maps, in float64."""
        return _answers(replace(self.cell, mode="training", precision="float32"))

    def error(self, y: Tensor) -> float:
        """Largest difference of an output from the right one, over real tokens."""
        return self._gap(y, self.answers["y"])

    def gradient_error(self, dx: Tensor, maps: dict[str, list[Rows]]) -> float:
        """Largest relative difference over the gradients of x and of the four maps."""
        wanted = self.answers
        found = {"x": dx[self.real], **gradients(maps)}
        right = {**wanted, "x": wanted["x"][self.real]}
        return max(_relative(found[name].double(), right[name]) for name in found)

    def _gap(self, y: Tensor, wanted: Tensor) -> float:
        if y.shape != wanted.shape:
            return float("inf")
        gap = (y.detach().double() - wanted).abs()[self.real]
        return float("inf") if gap.isnan().any() else gap.max().item()

    def _drawn(self, seed: int) -> Tensor:
        """Drawn on the CPU, so that every device gets the same; then on the default device."""
        numbers = torch.Generator("cpu").manual_seed(seed)
        sizes = self.cell.batch, self.cell.n_tokens, self.cell.d_model
        drawn = torch.randn(sizes, generator=numbers, device="cpu")
        return drawn.to(torch.get_default_device())


@lru_cache(maxsize=1)
def _answers(cell: Cell) -> dict[str, Tensor]:
    """The four cells of one size and mask share them, one after another."""
    given = Problem(cell)
    exact = deepcopy(given.attention).double()
    mask = None if cell.mask == "ragged" else cell.predicate
    y, dx = (torch.zeros(given.x.shape, dtype=torch.float64) for _ in range(2))
    for i, n in enumerate(cell.lengths):
        x = given.x[i, :n].double().requires_grad_()
        out = exact(x, mask=mask)
        out.backward(given.g[i, :n].double())
        assert x.grad is not None
        y[i, :n], dx[i, :n] = out.detach(), x.grad
    return {"y": y, "x": dx, **gradients(_stages_maps(exact))}


def gradients(maps: dict[str, list[Rows]]) -> dict[str, Tensor]:
    """The gradients of the four maps."""
    return {name: torch.cat([rows.gradient for rows in maps[name]]) for name in MAPS}


def _stages_maps(attention: MultiHeadAttention) -> dict[str, list[Rows]]:
    linears = zip(MAPS, _linears(attention), strict=True)
    return {name: [Rows(W.weight, W.bias)] for name, W in linears}


def _linears(attention: MultiHeadAttention) -> tuple[nn.Linear, ...]:
    project = attention.project
    return project.W_Q, project.W_K, project.W_V, attention.W_O


def _relative(found: Tensor, right: Tensor) -> float:
    gap = (found - right).abs().max() / right.abs().max()
    return float("inf") if gap.isnan() else gap.item()
