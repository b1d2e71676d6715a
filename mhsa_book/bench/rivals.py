"""Who takes part, from PyTorch alone: raw, explicit, 3h small matrices, ``nn.Module``s, ours.

Each function builds one with the weights of a problem. One that cannot express a cell raises
``NotApplicableError`` and says why; one that is not installed, ``ImportError``.
"""

from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mhsa_book.bench.problem import MAPS, Loaded, Problem, Rows, load
from mhsa_book.equivalence.peers import NotApplicableError
from mhsa_book.results.cells import Cell
from mhsa_lib.fused.attention import FusedMultiHeadAttention
from mhsa_lib.masks.predicates import causal


class Packed(nn.Module):
    """One product for q, k and v, a core, one product for the output."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.heads, self.kv_heads = cell.n_heads, cell.kv_heads
        self.d_head = cell.d_model // cell.n_heads
        self.widths = [n * self.d_head for n in (self.heads, self.kv_heads, self.kv_heads)]
        self.qkv = nn.Linear(cell.d_model, sum(self.widths))
        self.out = nn.Linear(cell.d_model, cell.d_model)
        self.causal = cell.mask == "causal"
        self.mask = None if self.causal else may_look(cell)

    def split(self, x: Tensor) -> list[Tensor]:
        """q, k and v as (batch, head, token, d_head), without a copy."""
        parts = self.qkv(x).split(self.widths, dim=-1)
        return [part.unflatten(-1, (-1, self.d_head)).transpose(1, 2) for part in parts]

    def core(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """The kernel of PyTorch."""
        return F.scaled_dot_product_attention(q, k, v, self.mask, is_causal=self.causal)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.core(*self.split(x)).transpose(1, 2).flatten(2))

    @property
    def maps(self) -> dict[str, list[Rows]]:
        """Where the four maps are."""
        return packed(self.qkv, self.widths) | {"W_O": [Rows(self.out.weight, self.out.bias)]}


class Explicit(Packed):
    """As ``Packed``, with scores and weights written to memory."""

    def __init__(self, cell: Cell) -> None:
        super().__init__(cell)
        allowed = may_look(cell)
        self.forbidden = None if allowed is None else ~allowed

    def core(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Scores, softmax, mixture."""
        scores = q @ k.mT * self.d_head**-0.5
        if self.forbidden is not None:
            scores = scores.masked_fill(self.forbidden, float("-inf"))
        return scores.softmax(dim=-1) @ v


class Small(nn.Module):
    """3h small matrices and a loop over heads, as figures of attention suggest."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        d_head = cell.d_model // cell.n_heads
        self.three = nn.ModuleList(
            nn.ModuleList(nn.Linear(cell.d_model, d_head) for _ in range(cell.n_heads))
            for _ in range(3)
        )
        self.out = nn.Linear(cell.d_model, cell.d_model)
        self.scale = d_head**-0.5
        allowed = may_look(cell)
        self.forbidden = None if allowed is None else ~allowed.reshape(-1, *allowed.shape[-2:])

    def forward(self, x: Tensor) -> Tensor:
        heads = []
        for query, key, value in zip(*self.three, strict=True):
            scores = query(x) @ key(x).mT * self.scale
            if self.forbidden is not None:
                scores = scores.masked_fill(self.forbidden, float("-inf"))
            heads.append(scores.softmax(dim=-1) @ value(x))
        return self.out(torch.cat(heads, dim=-1))

    @property
    def maps(self) -> dict[str, list[Rows]]:
        """Where the four maps are: a piece of three of them in every head."""
        owners: list[Any] = [*self.three, [self.out]]
        pieces = [[Rows(piece.weight, piece.bias) for piece in owner] for owner in owners]
        return dict(zip(MAPS, pieces, strict=True))


def may_look(cell: Cell) -> Any:
    """The mask as other people take it: padded keys only, True = may look; None for all."""
    n = cell.n_tokens
    if cell.mask == "ragged":
        return torch.arange(n) < torch.tensor(cell.lengths)[:, None, None, None]
    return None if cell.predicate is None else cell.predicate.dense(n, n)


def needs_a_mask(cell: Cell) -> None:
    """Refuse a cell without a mask, for what is always causal."""
    if cell.mask == "full":
        raise NotApplicableError("always causal")


def packed(linear: Any, widths: list[int], transposed: bool = False) -> dict[str, list[Rows]]:
    """W_Q, W_K and W_V as rows of one matrix of these widths."""
    ends = [sum(widths[: i + 1]) for i in range(3)]
    return {
        name: [Rows(linear.weight, linear.bias, end - width, end, transposed)]
        for name, end, width in zip(("W_Q", "W_K", "W_V"), ends, widths, strict=True)
    }


def four(q: Any, k: Any, v: Any, o: Any) -> dict[str, list[Rows]]:
    """The four maps as modules of their own."""
    linears = {"W_Q": q, "W_K": k, "W_V": v, "W_O": o}
    return {name: [Rows(linear.weight, linear.bias)] for name, linear in linears.items()}


def raw(problem: Problem) -> Loaded:
    """Packed projections and ``F.scaled_dot_product_attention``, nothing else: the unit."""
    return _of(Packed(problem.cell), problem)


def explicit(problem: Problem) -> Loaded:
    """The same with an explicit softmax."""
    return _of(Explicit(problem.cell), problem)


def small(problem: Problem) -> Loaded:
    """One small matrix per head and map."""
    return _of(Small(problem.cell), problem)


def ours(problem: Problem) -> Loaded:
    """Our fused module, from the five stages."""
    module = FusedMultiHeadAttention.from_attention(problem.attention)
    mask = problem.cell.predicate
    maps = packed(module.W_QKV, module.widths)
    maps["W_O"] = [Rows(module.W_O.weight, module.W_O.bias)]
    return Loaded(lambda x: module(x, mask=mask), module, maps)


def five_stages(problem: Problem) -> Loaded:
    """The five stages, each a module."""
    module, mask = deepcopy(problem.attention), problem.cell.predicate
    project = module.project
    maps = four(project.W_Q, project.W_K, project.W_V, module.W_O)
    return Loaded(lambda x: module(x, mask=mask), module, maps)


def torch_no_weights(problem: Problem) -> Loaded:
    """``nn.MultiheadAttention`` in training mode, which asks for no weights."""
    return _torch(problem, need_weights=False, stays_training=True)


def torch_fast_path(problem: Problem) -> Loaded:
    """``nn.MultiheadAttention`` in evaluation mode: its "fast path"."""
    if problem.cell.mode == "training":
        raise NotApplicableError("the fast path has no gradients")
    if problem.cell.precision != "float32" and problem.x.device.type == "cuda":
        raise NotApplicableError("autocast turns the fast path off on a GPU")
    return _torch(problem, need_weights=False, stays_training=False)


def torch_weights(problem: Problem) -> Loaded:
    """``nn.MultiheadAttention`` that returns its weights."""
    return _torch(problem, need_weights=True, stays_training=True)


def _of(module: Packed | Small, problem: Problem) -> Loaded:
    return Loaded(module, module, load(problem.attention, module.maps))


def _torch(problem: Problem, *, need_weights: bool, stays_training: bool) -> Loaded:
    cell = problem.cell
    module = nn.MultiheadAttention(cell.d_model, cell.n_heads, batch_first=True)
    maps = packed(
        SimpleNamespace(weight=module.in_proj_weight, bias=module.in_proj_bias),
        [cell.d_model] * 3,
    )
    maps["W_O"] = [Rows(module.out_proj.weight, module.out_proj.bias)]
    options: dict[str, Any] = {"need_weights": need_weights}
    if cell.mask == "ragged":
        options["key_padding_mask"] = ~problem.real
    elif cell.predicate is not None:
        options["attn_mask"] = ~cell.predicate.dense(cell.n_tokens, cell.n_tokens)
        options["is_causal"] = cell.predicate is causal
    load(problem.attention, maps)
    return Loaded(lambda x: module(x, x, x, **options)[0], module, maps, stays_training)
