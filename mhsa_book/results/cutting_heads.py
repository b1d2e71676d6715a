"""What SmolLM2 loses as heads are cut out of it, in several orders: every text's numbers.

``python -m mhsa_book.experiments.cutting_heads`` makes the file.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mhsa_book.results import bootstrap, stored_run
from mhsa_book.results.bootstrap import Interval
from mhsa_book.results.who_gets_the_drink import name as name

FILE = Path(__file__).parent / "data" / "cutting_heads.json"

RANDOM = tuple(f"drawn {i}" for i in range(1, 5))
RANDOM_GROUPS = tuple(f"drawn groups {i}" for i in range(1, 4))
ALONE, LENGTH = "each alone", "length"
GRADIENT, GRADIENT_BY_LAYER = "gradient", "gradient, by layer"
GROUPS = "groups, each alone"
RANDOM_MEAN, ALONE_MEAN = "drawn 1, mean left", "each alone, mean left"

KINDS = ("novel", "sentences", "answers")
"""Of texts: so many of each, one kind behind the other."""

CUTS = (9, 27, 54, 81, 135)
"""Heads that are cut out."""

SIZES = (0, *CUTS)


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
    answers : what the model answered to the questions
    alone : for every head, cut alone, what it adds to the loss of each text that makes orders
    scores : of the gradient and of lengths, for every head
    orders : all heads as layer and head, the first to go first
    texts : for every order and size of cut, from 0 on, the loss of each measured text
    drink : likewise the log-probabilities of the right name and of the wrong one, by prompt
    """

    predictions: tuple[str, ...]
    predictions_commit: str
    date: str
    machine: dict[str, Any]
    model: str
    answers: list[str]
    alone: dict[str, list[float]]
    scores: dict[str, list[float]]
    orders: dict[str, list[Any]]
    texts: dict[str, list[list[float]]]
    drink: dict[str, list[list[list[float]]]]

    def loss(self, way: str, n: int, kind: str | None = None) -> Interval:
        """Nats a token with n heads cut, over all measured texts or those of a kind."""
        return bootstrap.mean_of(self._of(way, n, kind))

    def lost(self, way: str, n: int, kind: str | None = None) -> Interval:
        """Nats a token more than the whole model has, text by text."""
        return bootstrap.mean_of(self._differences(way, n, kind))

    def lost_between(self, way: str, other: str, n: int) -> Interval:
        """Nats a token that one order loses more than another one, text by text."""
        first, second = (self._differences(each, n, None) for each in (way, other))
        return bootstrap.mean_of([a - b for a, b in zip(first, second, strict=True)])

    def leads(self, way: str, n: int) -> Interval:
        """Share of prompts on which the right name leads, with Wilson's interval."""
        from scipy import stats

        chances = self.drink[way][SIZES.index(n)]
        n_right = sum(right > wrong for right, wrong in chances)
        ends = stats.binomtest(n_right, len(chances)).proportion_ci(method="wilson")
        return Interval(n_right / len(chances), ends.low, ends.high)

    def cost_alone(self) -> dict[str, float]:
        """What each head costs alone, on average over the texts that make orders."""
        return {head: sum(costs) / len(costs) for head, costs in self.alone.items()}

    def _differences(self, way: str, n: int, kind: str | None) -> list[float]:
        both = zip(self._of(way, n, kind), self._of(way, 0, kind), strict=True)
        return [after - before for after, before in both]

    def _of(self, way: str, n: int, kind: str | None) -> list[float]:
        losses = self.texts[way][SIZES.index(n)]
        if kind is None:
            return losses
        of_a_kind = len(losses) // len(KINDS)
        at = KINDS.index(kind) * of_a_kind
        return losses[at : at + of_a_kind]


def save(found: Found, file: Path = FILE) -> None:
    """Write it whole or not at all; ``ValueError`` for more than 300 kB."""
    stored_run.write(found, file)


def kept(file: Path = FILE) -> Found:
    """The stored numbers; errors are those of ``stored_run.read``."""
    return stored_run.read(Found, file, "cutting_heads")
