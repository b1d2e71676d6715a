"""One pass of any attention, stage by stage, with every number and where it came from."""

import math
from typing import Any

from torch import Tensor
from traitlets import Dict, Int, List

from mhsa_book import plots
from mhsa_book.provenance import Provenance, provenance_of
from mhsa_book.widgets.figure import Figure
from mhsa_book.widgets.rules import Rule, whole
from mhsa_lib import checks
from mhsa_lib.shapes import AXIS_COLOURS

TOKENS, NUMBERS = 6, 2500
"""What can be looked through: tokens of the sequence, and numbers in all wires and inputs."""


class PassStepper(Figure):
    """Steps through the stages of any attention; a number lights up those it was made of.

    The stages come from the attention itself, so every variant can be followed, and one of
    your own too. The numbers stand still: ``StageStepper`` is the figure whose numbers can be
    edited, for plain attention. The reader sets ``step`` and ``selected`` (a wire's name with
    indices, such as ``["latent", 0, 1]``), and so can Python.

    Parameters
    ----------
    x : (seq, d_model), at most 6 tokens
    attention : a ``MultiHeadAttention``, any variant or stages of your own
    mask : a predicate of ``mhsa_lib.masks`` or a boolean tensor

    Raises
    ------
    ValueError : for a batch, more tokens, or more than 2,500 numbers in all

    Examples
    --------
    >>> import torch
    >>> from mhsa_lib.variants import MultiQueryAttention
    >>> stepper = PassStepper(torch.randn(2, 4), MultiQueryAttention(4, 2))
    >>> [step["step"] for step in stepper.recorded["steps"]]
    ['project', 'split', 'scores', 'weights', 'attend', 'concat', 'W_O']
    """

    recorded = Dict().tag(sync=True)
    step = Int(0, min=0).tag(sync=True)
    selected: "List[Any]" = List().tag(sync=True)
    colours = Dict(AXIS_COLOURS).tag(sync=True)

    def __init__(self, x: Tensor, attention: Any, mask: Any = None, **traits: Any) -> None:
        checks.tokens("x", x, attention.d_model)
        if x.ndim != 2 or not 1 <= len(x) <= TOKENS:
            raise ValueError(
                f"x is {tuple(x.shape)}; the stepper writes out every number, of one sequence "
                f"(seq, {attention.d_model}) of 1 to {TOKENS} tokens."
            )
        self._provenance = provenance_of(attention, x.detach(), mask)
        super().__init__(recorded=_packed(self._provenance), **traits)

    def rules(self) -> dict[str, Rule]:
        """What a reload or a link may bring back, as ``Figure.rules``."""
        return {"step": whole(0, len(self.recorded["steps"]) - 1)}

    @property
    def alt(self) -> str:
        weights = self._provenance.wires["weights"]
        n_heads, n_query, n_key = weights.shape
        return (
            f"Heat maps of the attention weights of {n_heads} heads, {n_query} queries and "
            f"{n_key} keys; the largest is {weights.max():.4f}."
        )

    def still(self) -> None:
        weights = self._provenance.wires["weights"]
        plots.heads(weights, [f"token {i}" for i in range(weights.shape[-1])])


def _packed(provenance: Provenance) -> dict[str, Any]:
    """A provenance as JSON: places are numbers, counted through all wires in order."""
    numbers = provenance.inputs | provenance.wires
    tables = {name: value.reshape(_two_axes(value)) for name, value in numbers.items()}
    total = sum(table.numel() for table in tables.values())
    if total > NUMBERS:
        raise ValueError(
            f"this pass has {total:,} numbers; the stepper shows up to {NUMBERS:,}: take fewer "
            f"tokens, or a smaller d_model."
        )
    first, start = {}, 0
    for name, table in tables.items():
        first[name], start = start, start + table.numel()
    parents = {
        wire: [[_index(place, numbers, first) for place in places] for places in every]
        for wire, every in provenance.parents.items()
    }
    return {
        "inputs": list(provenance.inputs),
        "axes": {name: _axes(provenance.axes[name], tables[name]) for name in tables},
        "numbers": {name: _finite(table.tolist()) for name, table in tables.items()},
        "parents": parents,
        "steps": [
            {"step": title, "makes": list(wires), "says": says}
            for title, wires, says in provenance.steps
        ],
    }


def _two_axes(value: Tensor) -> tuple[int, ...]:
    return (1,) * (2 - value.ndim) + tuple(value.shape)


def _axes(names: tuple[str, ...], table: Tensor) -> list[str]:
    return [""] * (table.ndim - len(names)) + list(names)


def _index(place: tuple[Any, ...], numbers: dict[str, Tensor], first: dict[str, int]) -> int:
    name, *at = place
    flat = 0
    for i, size in zip(at, numbers[name].shape, strict=True):
        flat = flat * size + i
    return first[name] + flat


def _finite(rows: Any) -> Any:
    """JSON has no infinity: a forbidden score is null."""
    if isinstance(rows, list):
        return [_finite(row) for row in rows]
    return round(rows, 6) if math.isfinite(rows) else None
