"""One forward pass in nine steps, with every number and where it came from."""

import math
from typing import Any

import torch
from torch import Tensor
from traitlets import Dict, Enum, Int, List, validate

from mhsa_book import examples, plots
from mhsa_book.widgets.figure import Figure
from mhsa_book.widgets.rules import Rule, number, one_of, own, rows
from mhsa_lib import checks, masks
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.shapes import AXIS_COLOURS
from mhsa_lib.tracing.wires import Wires, trace

STEPS = ("project", "split", "score", "scale", "mask", "softmax", "mix", "concat", "W_O")
INPUTS = ("x", "W_Q", "W_K", "W_V", "W_O")
TOKENS, COLUMNS, LARGEST = 4, 6, 100


class StageStepper(Figure):
    """Numbers to edit, and all later ones follow; to point at, and where they came from lights.

    For plain attention; ``PassStepper`` follows every variant.

    The reader sets these traits, and so can Python: ``x``, ``W_Q``, ``W_K``, ``W_V``, ``W_O``
    (nested lists; W as in the formula, which is ``weight.T``), ``mask``, ``step``, and
    ``selected``, a wire's name with indices such as ``["q", 0, 1]``; if that number is not in
    sight, or nothing is selected, the first number of the step is.

    Parameters
    ----------
    x : (seq, d_model), at most 4 tokens of at most 6 columns; default: ``examples.worked()``
    attention : a ``MultiHeadAttention`` without biases, its heads at most 6 columns in all
    mask : a predicate of ``mhsa_lib.masks`` or a boolean tensor that broadcasts to (query, key)

    Raises
    ------
    ValueError : for more or other sizes, for a number that is not finite or exceeds 100, and
        for an attention with biases, dropout or stages of its own
    TypeError : for a mask that is not boolean, or another kind of attention

    Examples
    --------
    >>> stepper = StageStepper(mask=masks.causal, step="softmax")
    >>> stepper.wires()["weights"][0, 0].tolist()
    [1.0, 0.0]
    """

    x: "List[Any]" = List().tag(sync=True)
    W_Q: "List[Any]" = List().tag(sync=True)
    W_K: "List[Any]" = List().tag(sync=True)
    W_V: "List[Any]" = List().tag(sync=True)
    W_O: "List[Any]" = List().tag(sync=True)
    mask: "List[Any]" = List().tag(sync=True)
    step = Enum(STEPS, "project").tag(sync=True)
    selected: "List[Any]" = List().tag(sync=True)

    n_heads = Int().tag(sync=True)
    start = Dict().tag(sync=True)
    colours = Dict(AXIS_COLOURS).tag(sync=True)

    def __init__(
        self,
        x: Tensor | None = None,
        attention: MultiHeadAttention | None = None,
        mask: Any = None,
        **traits: Any,
    ) -> None:
        worked = examples.worked()
        x = worked[0] if x is None else x
        attention = worked[1] if attention is None else attention
        start = _numbers(x, attention)
        shape = (1, 1, len(x), len(x))
        given = masks.resolve(mask, shape, torch.device("cpu"))
        allowed = torch.ones(shape, dtype=torch.bool) if given is None else given.expand(shape)
        start["mask"] = allowed[0, 0].tolist()
        super().__init__(**start, start=start, n_heads=attention.n_heads, **traits)

    @validate(*INPUTS)
    def _small(self, proposal: Any) -> Any:
        name, rows = proposal["trait"].name, proposal["value"]
        self._same_shape(name, rows)
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                if not math.isfinite(value) or abs(value) > LARGEST:
                    raise ValueError(
                        f"{name}[{i}, {j}] = {value:g} cannot be followed by hand; "
                        f"give a number from -{LARGEST} to {LARGEST}."
                    )
        return rows

    @validate("mask")
    def _boolean(self, proposal: Any) -> Any:
        self._same_shape("mask", proposal["value"])
        checks.boolean(torch.tensor(proposal["value"]))
        return proposal["value"]

    def _same_shape(self, name: str, rows: Any) -> None:
        wanted = torch.tensor(self.start[name]).shape
        if (given := torch.tensor(rows).shape) != wanted:
            raise ValueError(
                f"{name} is {tuple(given)}, but this figure was made for {tuple(wanted)}; "
                f"make another StageStepper for other sizes."
            )

    def wires(self) -> Wires:
        """All wires for the numbers as they are now, computed by the library in float64."""
        x, *weights = (torch.tensor(getattr(self, name)).double() for name in INPUTS)
        d_model, d_heads = weights[0].shape
        mha = MultiHeadAttention(d_model, self.n_heads, d_head=d_heads // self.n_heads).double()
        with torch.no_grad(), trace(mha) as wires:
            for parameter, W in zip(mha.parameters(), weights, strict=True):
                parameter.copy_(W.T)
            mha(x, mask=torch.tensor(self.mask))
        return wires

    def rules(self) -> dict[str, Rule]:
        """The step, the mask and, in this browser only, the numbers that were typed."""
        n = len(self.mask)
        typed = {
            name: own(rows(number(-LARGEST, LARGEST), len(matrix), len(matrix[0])))
            for name in INPUTS
            for matrix in [self.start[name]]
        }
        return super().rules() | {"mask": rows(one_of([True, False]), n, n)} | typed

    @property
    def alt(self) -> str:
        weights = self.wires()["weights"]
        n_heads, n, _ = weights.shape
        head, query, key = torch.unravel_index(weights.argmax(), weights.shape)
        return (
            f"Heat maps of the attention weights of {n_heads} heads on {n} tokens. "
            f"The largest is {weights.max():.4f}, of head {head}, from query {query} to "
            f"key {key}."
        )

    def still(self) -> None:
        plots.heads(self.wires()["weights"], [f"token {i}" for i in range(len(self.x))])


def _numbers(x: Tensor, attention: MultiHeadAttention) -> dict[str, Any]:
    """The numbers of a pass that can be followed by hand, or the reason why it cannot."""
    if not isinstance(attention, MultiHeadAttention):
        raise TypeError(
            f"attention is a {type(attention).__name__}; pass a MultiHeadAttention, "
            f"for example to_attention() of a fused one."
        )
    d_model, n_heads, d_head = attention.d_model, attention.n_heads, attention.d_head
    if repr(attention) != repr(MultiHeadAttention(d_model, n_heads, d_head=d_head)):
        raise ValueError(
            f"the stepper follows plain attention: bias=False, dropout=0 and the standard "
            f"stages; PassStepper follows any attention, its numbers stand still. Here was\n"
            f"{attention}"
        )
    checks.tokens("x", x, d_model)
    if x.ndim != 2 or not 1 <= len(x) <= TOKENS or max(d_model, n_heads * d_head) > COLUMNS:
        raise ValueError(
            f"x is {tuple(x.shape)}, with {n_heads} heads of {d_head} columns; the stepper "
            f"writes out every number, of one sequence of 1 to {TOKENS} tokens and at most "
            f"{COLUMNS} columns."
        )
    W_Q, W_K, W_V, W_O = (p.T for p in attention.parameters())
    numbers = {"x": x, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_O": W_O}
    return {name: matrix.detach().double().tolist() for name, matrix in numbers.items()}
