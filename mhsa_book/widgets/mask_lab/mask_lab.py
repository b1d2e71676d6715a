"""A mask to choose or to paint; weights, both polarities and the empty rows follow."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from traitlets import Enum, Int, List, TraitError, Unicode, validate

from mhsa_book import examples, plots
from mhsa_book.equivalence import empty_row
from mhsa_book.transformer.checks import whole_characters
from mhsa_book.widgets.figure import Figure
from mhsa_book.widgets.rules import Rule, one_of, rows, whole
from mhsa_lib import checks, functional, masks

LONGEST = 10
OWN = "your own"
RULES: dict[str, Callable[[int], masks.Predicate]] = {
    "none": lambda _: masks.full,
    "causal": lambda _: masks.causal,
    "padding": lambda length: masks.padding([length]),
    "key padding": lambda length: masks.key_padding([length]),
    "causal and key padding": lambda length: masks.causal & masks.key_padding([length]),
    "prefix": masks.prefix,
    "sliding window": masks.sliding_window,
}


class MaskLab(Figure):
    """A mask beside the weights it leaves, in the forms of both of PyTorch's conventions.

    ``scores`` (head, query, key), before any mask, and ``tokens`` default to the first
    sentence of the running example. Traits that the reader changes too: ``kind`` (a rule, or
    "your own"), ``n`` (its one number: length, prefix or window), ``painted`` (rows of
    booleans, the mask when the kind is "your own"), ``head`` and ``form`` ("boolean" or
    "additive"). ``mask`` is the tensor now shown, (query, key), True = may look; it can be set
    to a predicate or a boolean tensor, also at the start.

    Raises ``ValueError`` for scores that are not square, finite and of at most 10 tokens,
    ``TypeError`` for a mask that is not boolean, ``TraitError`` for a head that is not there.

    >>> lab = MaskLab(kind="sliding window", n=2)
    >>> lab.mask = masks.causal & masks.key_padding([4])
    >>> lab.kind, lab.mask.sum().item()
    ('your own', 22)
    """

    tokens = List(Unicode()).tag(sync=True)
    scores: "List[Any]" = List().tag(sync=True)
    head = Int(0, min=0).tag(sync=True)
    kind = Enum([*RULES, OWN], "causal").tag(sync=True)
    n = Int(3, min=1, max=LONGEST).tag(sync=True)
    painted: "List[Any]" = List().tag(sync=True)
    form = Enum(["boolean", "additive"], "boolean").tag(sync=True)
    answers: "List[Any]" = List().tag(sync=True)
    torch_version = Unicode(torch.__version__.partition("+")[0]).tag(sync=True)

    def __init__(
        self,
        scores: Tensor | None = None,
        tokens: Sequence[str] = examples.SENTENCES[0],
        *,
        mask: Any = None,
        **state: Any,
    ) -> None:
        scores = examples.running()["scores"][0] if scores is None else scores
        _checked(scores, tokens)
        size = len(tokens)
        super().__init__(
            scores=scores.tolist(),
            tokens=list(tokens),
            answers=[answer._asdict() for answer in empty_row.answers(size)],
            **{"painted": [[True] * size for _ in tokens]} | state,
        )
        if mask is not None:
            self.mask = mask

    @property
    def mask(self) -> Tensor:
        """The mask now shown, (query, key), True = may look."""
        if self.kind == OWN:
            return torch.tensor(self.painted)
        size = len(self.tokens)
        return RULES[self.kind](self.n).dense(size, size).reshape(size, size)

    @mask.setter
    def mask(self, mask: Any) -> None:
        """Take a predicate, a boolean tensor, or None for no mask."""
        size = len(self.tokens)
        allowed = masks.resolve(mask, (1, 1, size, size), torch.device("cpu"))
        if allowed is None:
            self.kind = "none"
            return
        self.painted = allowed.expand(1, 1, size, size)[0, 0].tolist()
        self.kind = OWN

    @property
    def weights(self) -> Tensor:
        """The weights of the chosen head under the mask, (query, key)."""
        return functional.softmax(torch.tensor(self.scores), self.mask[None])[self.head]

    @validate("head")
    def _head_is_there(self, proposal: Any) -> int:
        last = len(self.scores) - 1
        if proposal.value > last:
            raise TraitError(f"head={proposal.value} is not there; the last is {last}.")
        return proposal.value

    @validate("painted")
    def _painted_is_square(self, proposal: Any) -> list[list[bool]]:
        rows, size = proposal.value, len(self.tokens)
        square = len(rows) == size and all(len(row) == size for row in rows)
        if not square or not all(isinstance(may, bool) for row in rows for may in row):
            raise TraitError(
                f"painted must be {size} rows of {size} booleans, True = may look; "
                f"set mask to use a tensor or a predicate."
            )
        return rows

    def rules(self) -> dict[str, Rule]:
        """What a reload or a link may bring back, as ``Figure.rules``."""
        painted = rows(one_of([True, False]), len(self.tokens), len(self.tokens))
        head = whole(0, len(self.scores) - 1)
        return super().rules() | {"head": head, "painted": painted}

    @property
    def alt(self) -> str:
        mask = self.mask
        return (
            f"Heat map of head {self.head} on {len(self.tokens)} tokens under the mask "
            f"{self.kind}: {int(mask.sum())} of {mask.numel()} pairs may look, and "
            f"{int((~mask.any(dim=-1)).sum())} queries look at nothing."
        )

    def still(self) -> None:
        plots.heat_map(self.weights, self.tokens)


def _checked(scores: Tensor, tokens: Sequence[str]) -> None:
    checks.positive(tokens=len(tokens))
    for token in tokens:
        whole_characters("tokens", token)
    size = len(tokens)
    if scores.ndim != 3 or tuple(scores.shape[1:]) != (size, size):
        raise ValueError(
            f"scores have shape {tuple(scores.shape)}; {size} tokens need "
            f"(head, query, key) = (…, {size}, {size})."
        )
    if size > LONGEST:
        raise ValueError(f"{size} tokens do not fit; use at most {LONGEST}.")
    if not scores.isfinite().all():
        raise ValueError("scores hold NaN or ∞; pass them as they are before the mask.")
