"""What SmolLM2 says of who gets the drink, with heads off: every prompt's numbers.

``python -m mhsa_book.experiments.who_gets_the_drink`` makes the file.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import Any

from mhsa_book.results import bootstrap, stored_run
from mhsa_book.results.bootstrap import Interval

FILE = Path(__file__).parent / "data" / "who_gets_the_drink.json"

ALL_ON = "all on"
MEAN, RESAMPLE, THIRD = "mean", "resample", "resample, a third gives"
BOTH = "mean, both orders"
HOWS = (MEAN, RESAMPLE, THIRD, BOTH)
"""What stands in for a head: its mean, what it found in another sentence, or in another one in
which nobody is named twice. Only in the sentences of the last mean, the first page's, is who
gives named first as often as second."""

Chances = list[list[float]]
"""For every prompt the log-probabilities of the right name and of the wrong one."""


@dataclass(frozen=True)
class Found:
    """The stored numbers.

    Parameters
    ----------
    predictions : what was expected, in sentences
    predictions_commit : the commit that holds them
    date : of the run, as in 2026-01-31
    machine : where it ran, and seconds of processor
    model : SHA-256 of the file of the model
    sets : heads of every set that was off, each as layer and head
    heads : for every head, off alone at its mean, what it changed in the logit difference,
        right minus wrong: for the prompts of the half that chooses, then of the other
    held_out : for every template and way, with every set off
    page : for every way the sentence of the first page, one entry for each source
    """

    predictions: tuple[str, ...]
    predictions_commit: str
    date: str
    machine: dict[str, Any]
    model: str
    sets: dict[str, list[Any]]
    heads: dict[str, list[float]]
    held_out: dict[str, dict[str, dict[str, Chances]]]
    page: dict[str, dict[str, Chances]]

    def leads(self, template: str, off: str = ALL_ON, how: str = MEAN) -> Interval:
        """Share of held-out prompts on which the right name leads, with Wilson's interval."""
        from scipy import stats

        chances = self.held_out[template][how][off]
        n_right = sum(right > wrong for right, wrong in chances)
        ends = stats.binomtest(n_right, len(chances)).proportion_ci(method="wilson")
        return Interval(n_right / len(chances), ends.low, ends.high)

    def ahead(self, template: str, off: str = ALL_ON, how: str = MEAN) -> Interval:
        """By how many logits the right name leads, over held-out prompts."""
        leads = [right - wrong for right, wrong in self.held_out[template][how][off]]
        return bootstrap.mean_of(leads)

    def chance(self, template: str, off: str = ALL_ON, how: str = MEAN) -> Interval:
        """How likely the right name is, over held-out prompts."""
        return bootstrap.mean_of([exp(right) for right, _ in self.held_out[template][how][off]])

    def gain(self, template: str, off: str, how: str = MEAN) -> Interval:
        """How much likelier the right name is with heads off, prompt by prompt."""
        sets = self.held_out[template][how]
        both = zip(sets[off], sets[ALL_ON], strict=True)
        return bootstrap.mean_of([exp(after[0]) - exp(before[0]) for after, before in both])

    def alone(self, head: str) -> Interval:
        """What a head, off alone, changes in the logit difference on the other half.

        Raises ``KeyError`` for another name than "L23H3" and the like.
        """
        changes = self.heads[head]
        return bootstrap.mean_of(changes[len(changes) // 2 :])

    def on_page(self, off: str, how: str = MEAN) -> tuple[float, float]:
        """How likely Mary and John are on the first page, the mean over all sources."""
        chances = self.page[how][off]
        right, wrong = zip(*chances, strict=True)
        return sum(map(exp, right)) / len(chances), sum(map(exp, wrong)) / len(chances)


def name(head: Sequence[int]) -> str:
    """A head as it is called.

    >>> name((23, 3))
    'L23H3'
    """
    return "L{}H{}".format(*head)


def head(name: str) -> tuple[int, int]:
    """The layer and the head that a name says.

    >>> head("L23H3")
    (23, 3)
    """
    layer, in_layer = map(int, re.findall(r"\d+", name))
    return layer, in_layer


def save(found: Found, file: Path = FILE) -> None:
    """Write it whole or not at all; ``ValueError`` for more than 300 kB."""
    stored_run.write(found, file)


def kept(file: Path = FILE) -> Found:
    """The stored numbers; errors are those of ``stored_run.read``."""
    return stored_run.read(Found, file, "who_gets_the_drink")
