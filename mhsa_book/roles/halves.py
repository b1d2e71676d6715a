"""An honest accuracy: what is chosen on one half of the sentences is reported on the other.

With 72 heads and two directions one of 144 is good by chance, on the very sentences it was
chosen on. So the sentences are split once, by a rule that knows nothing of them: those with an
even number and those with an odd one. On one half the best head is chosen, and apart from it
the best guess; both are reported on the other half. Then the halves change places, so that
every arc is judged once, by what was chosen without it. Of equally good heads the first is
taken.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mhsa_book.results import bootstrap
from mhsa_book.results.bootstrap import Interval


class Row(NamedTuple):
    """What was chosen on one half, and what it is worth on the other."""

    chosen_on: str
    head: tuple[int, ...]
    """Its place in the table of heads: (direction, layer, head), say."""

    guess: Hashable
    """The name of the best guess, such as its distance."""

    n: int
    """Arcs of the other half."""

    accuracy: float
    baseline: float
    difference: Interval
    """Accuracy less baseline; the interval is that of other sentences, not of other choices."""


@dataclass(frozen=True)
class Judged:
    """Both rows, and all arcs together, each judged by what the half without it had chosen.

    Parameters
    ----------
    rows : chosen on the even sentences, reported on the odd ones; then the other way round
    n : arcs of both
    accuracy, baseline : share of the arcs that the chosen head and the chosen guess get right
    difference : accuracy less baseline, with an interval over sentences
    """

    rows: tuple[Row, Row]
    n: int
    accuracy: float
    baseline: float
    difference: Interval

    @property
    def agrees(self) -> bool:
        """Both halves have chosen the same head."""
        return self.rows[0].head == self.rows[1].head

    @property
    def ten_points_over(self) -> bool:
        """Voita's rule, read as ten points of a hundred: accuracy ≥ baseline + 0.1."""
        return self.difference.mean >= 0.1

    @property
    def ten_percent_over(self) -> bool:
        """Voita's rule, read as a tenth of the baseline; the paper does not say which."""
        return self.difference.mean >= 0.1 * self.baseline


def judged(heads: Tensor, guesses: Mapping[Any, Tensor], sentence: Tensor) -> Judged:
    """Choose on one half, report on the other, and change places.

    ``heads`` (arc, …) and each of the ``guesses`` (arc) hold 1 where one is right about an arc
    and 0 where not, or the probability of it; ``sentence`` (arc) is the number of the sentence.
    Raises ``ValueError`` for a half without arcs.

    >>> heads = torch.tensor([[1, 0], [1, 0], [1, 1], [0, 1]])
    >>> found = judged(heads, {"next": torch.tensor([0, 1, 0, 0])}, torch.arange(4))
    >>> found.accuracy, found.baseline, found.rows[0].head, found.rows[0].accuracy
    (0.75, 0.25, (0,), 0.5)
    """
    even, names = sentence % 2 == 0, [*guesses]
    if {len(heads), *map(len, guesses.values())} != {len(sentence)} or not names:
        raise ValueError(
            f"{len(sentence)} arcs, but heads for {len(heads)} and guesses for "
            f"{[len(each) for each in guesses.values()]}; pass one row an arc, and at "
            f"least one guess."
        )
    if even.all() or not even.any():
        raise ValueError(
            f"{int(even.sum())} arcs are in even sentences, {int((~even).sum())} in odd ones; "
            f"there must be some in both halves."
        )
    table = torch.stack([*guesses.values()], dim=1).double()
    right, baseline = torch.zeros(2, len(sentence)).double().unbind()
    rows = []
    for name, half in (("even", even), ("odd", ~even)):
        head, (guess,) = _best(heads[half]), _best(table[half])
        right[~half] = heads.movedim(0, -1)[head][~half].double()
        baseline[~half] = table[~half, guess]
        rows.append(Row(name, head, names[guess], *_reported(right, baseline, sentence, ~half)))
    whole = _reported(right, baseline, sentence, torch.ones_like(even))
    return Judged((rows[0], rows[1]), *whole)


def _best(table: Tensor) -> tuple[int, ...]:
    """The place of the largest share; of equal ones, the first."""
    share = table.double().mean(dim=0)
    return tuple((share == share.max()).nonzero()[0].tolist())


def _reported(
    right: Tensor, baseline: Tensor, sentence: Tensor, where: Tensor
) -> tuple[int, float, float, Interval]:
    """Number of arcs, both shares and the interval of their difference, over some arcs."""
    shares = right[where].mean().item(), baseline[where].mean().item()
    difference = _interval((right - baseline)[where], sentence[where])
    return int(where.sum()), *shares, difference


def _interval(gained: Tensor, sentence: Tensor) -> Interval:
    """The mean gain of an arc, drawn by sentence."""
    _, at = sentence.unique(return_inverse=True)
    sums = torch.zeros(int(at.max()) + 1).double().index_add(0, at, gained)
    return bootstrap.mean(sums, at.bincount())
