"""Heads against width at constant parameters, beside layers that were trained."""

from collections.abc import Sequence
from typing import Any

from traitlets import Int, List, TraitError, validate

from mhsa_book import plots
from mhsa_book.widgets.figure import Figure
from mhsa_book.widgets.head_budget.rings import PUBLISHED, Rings
from mhsa_book.widgets.rules import Rule, whole
from mhsa_book.widgets.sizes import problem_of
from mhsa_lib import checks


class HeadBudget(Figure):
    """Move ``n_heads`` against ``d_head``: what stays the same, what grows, what shrinks.

    Every trait can be set from Python and is set by the reader: ``d_model``, ``n_heads``,
    ``d_head`` (None means d_model / n_heads) and ``seq``, the number of tokens. Heads that do
    not divide d_model are explained in the figure and by ``refusal``, with the repair. Raises
    ``TraitError`` for a size outside its dial.

    ``rings`` are sets of layers that were trained, one of which is drawn: the published runs,
    unless others are given. With several the reader chooses, and ``shown`` is the number of the
    chosen one. Raises ``ValueError`` without any, ``TraitError`` for a number they do not have.

    >>> budget = HeadBudget(d_model=512, n_heads=8)
    >>> budget.n_heads = 16
    >>> budget.alt
    'Over the number of heads that share 512 numbers of a query, ... now n_heads is 16.'
    """

    d_model = Int(512, min=1, max=16_384).tag(sync=True)
    n_heads = Int(8, min=1, max=512).tag(sync=True)
    d_head = Int(None, min=1, max=16_384, allow_none=True).tag(sync=True)
    seq = Int(32, min=1, max=131_072).tag(sync=True)
    rings: "List[Any]" = List().tag(sync=True)
    shown = Int(0, min=0).tag(sync=True)

    def __init__(self, *, rings: Sequence[Rings] = (PUBLISHED,), **sizes: Any) -> None:
        if not rings:
            raise ValueError("rings=() has nothing to draw; give a set, or leave it out.")
        super().__init__(rings=[each.drawn() for each in rings], **sizes)

    @validate("shown")
    def _is_there(self, proposal: Any) -> int:
        shown, n = proposal["value"], len(self.rings)
        if shown >= n:
            raise TraitError(f"shown={shown}, but there are {n} sets of rings, from 0 on.")
        return shown

    @property
    def width(self) -> int:
        """All heads side by side; d_model while the heads do not divide it."""
        if self.d_head is None and self.d_model % self.n_heads:
            return self.d_model
        return self.n_heads * checks.head_width(self.d_model, self.n_heads, self.d_head)

    @property
    def refusal(self) -> str | None:
        """Why the library refuses these sizes, with a repair; None if it takes them."""
        return problem_of(self.d_model, self.n_heads, self.n_heads, self.d_head)

    def rules(self) -> dict[str, Rule]:
        """What a reload or a link may bring back, as ``Figure.rules``."""
        return super().rules() | {"shown": whole(0, len(self.rings) - 1)}

    @property
    def alt(self) -> str:
        return (
            f"Over the number of heads that share {self.width} numbers of a query, "
            f"distributions rise as directions of a score fall; now n_heads is {self.n_heads}."
        )

    def still(self) -> None:
        heads = [n for n in range(1, self.width + 1) if self.width % n == 0]
        trade = {
            "distributions for each query": heads,
            "directions of a score": [self.width // n for n in heads],
        }
        plots.curves(heads, trade, "n_heads", "count", log="xy")
