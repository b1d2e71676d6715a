"""What heads of SmolLM2 do for the name of who gets the drink, by four measures.

``python -m mhsa_book.experiments.whose_heads_name_mary`` makes the file.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mhsa_book.results import bootstrap, stored_run
from mhsa_book.results.bootstrap import Interval

FILE = Path(__file__).parent / "data" / "whose_heads_name_mary.json"

ZERO, MEAN, SOURCE = "zero", "mean", "a third gives"
WAYS = (ZERO, MEAN, SOURCE)
"""What stands in for a head that is off: zeros, its mean, or what it found in the same sentence
with a third person who gives."""

Numbers = dict[str, list[float]]
"""One number a prompt, by the name of a head."""


@dataclass(frozen=True)
class Found:
    """The stored numbers; a group is "choosing", or a template with names that chose nothing.

    A list of one number is a mean, and all others have one number a prompt.

    Parameters
    ----------
    predictions : what was expected, in sentences
    predictions_commit : the commit that holds them
    date : of the run, as in 2026-01-31
    machine : where it ran, and seconds of processor
    model : SHA-256 of the file of the model
    orders : the heads that are switched off one after the other, each as layer and head
    watched : for every group the ``lead`` by prompt; of every head its mean ``weights``, the
        mean ``length`` of its z at the last token, and by prompt its ``direct`` contribution
    told : for every group and receiver, what every sender changes in the lead
    off : for every template and way, what a head changes in the lead when it is off alone
    counted : for every template, order of heads and way, the lead with none, one, two … off
    rises : for every template, by how much direct contributions rise without L23H3
    """

    predictions: tuple[str, ...]
    predictions_commit: str
    date: str
    machine: dict[str, Any]
    model: str
    orders: dict[str, list[Any]]
    watched: dict[str, dict[str, Any]]
    told: dict[str, dict[str, Numbers]]
    off: dict[str, dict[str, Numbers]]
    counted: dict[str, dict[str, dict[str, list[list[float]]]]]
    rises: dict[str, Numbers]

    @property
    def templates(self) -> tuple[str, ...]:
        """Those with held-out names."""
        return tuple(self.off)

    def lead(self, template: str) -> Interval:
        """By how many logits the right name leads with every head on."""
        return bootstrap.mean_of(self.watched[template]["lead"])

    def weight(self, head: str, place: str) -> tuple[float, float]:
        """The least and the largest mean weight that a head gives a place, over templates."""
        means = [self.watched[t]["weights"][place][head] for t in self.templates]
        return min(means), max(means)

    def everyone(self, what: str) -> dict[str, float]:
        """Of all 270 heads the weight they give a place, or what they write ("direct").

        The mean over held-out templates.
        """
        means = dict[str, float]()
        for template in self.templates:
            seen = self.watched[template]
            of = mean_by_head(seen[what]) if what == "direct" else seen["weights"][what]
            for head, value in of.items():
                means[head] = means.get(head, 0.0) + value / len(self.templates)
        return means

    def written(self, head: str, *templates: str) -> Interval:
        """What a named head writes into the lead, over the prompts of (all) templates."""
        return self._pooled(
            {t: self.watched[t]["direct"] for t in self.templates}, head, templates
        )

    def changed(self, head: str, way: str, *templates: str) -> Interval:
        """What a named head, off alone, changes in the lead."""
        return self._pooled({t: self.off[t][way] for t in self.templates}, head, templates)

    def risen(self, head: str, *templates: str) -> Interval:
        """By how much a named head writes more when L23H3 is off."""
        return self._pooled(self.rises, head, templates)

    def told_by(self, sender: str, receiver: str, *templates: str) -> Interval:
        """What a named head, telling one receiver what it found in the source, changes."""
        return self._pooled(
            {t: self.told[t][receiver] for t in self.templates}, sender, templates
        )

    def _pooled(
        self, numbers: dict[str, Numbers], head: str, templates: tuple[str, ...]
    ) -> Interval:
        chosen = templates or self.templates
        return bootstrap.mean_of([value for t in chosen for value in numbers[t][head]])

    def leads(
        self, template: str, n_off: int, way: str = MEAN, order: str = "chosen"
    ) -> Interval:
        """Share of prompts on which the right name leads, n heads off; Wilson's interval."""
        from scipy import stats

        counted = self.counted[template][order][way]
        leads = counted[n_off if order == "chosen" else -1]
        n_right = sum(lead > 0 for lead in leads)
        ends = stats.binomtest(n_right, len(leads)).proportion_ci(method="wilson")
        return Interval(n_right / len(leads), ends.low, ends.high)

    def needed(self, template: str, way: str = MEAN) -> list[int | None]:
        """For every prompt after how many heads the giver is ahead; None where never."""
        by_prompt = zip(*self.counted[template]["chosen"][way], strict=True)
        return [next((n for n, lead in enumerate(p) if lead < 0), None) for p in by_prompt]


def mean_by_head(numbers: Numbers) -> dict[str, float]:
    """The mean over prompts of every head, whether it was kept whole or not."""
    return {head: sum(values) / len(values) for head, values in numbers.items()}


def save(found: Found, file: Path = FILE) -> None:
    """Write it whole or not at all; ``ValueError`` for more than 300 kB."""
    stored_run.write(found, file)


def kept(file: Path = FILE) -> Found:
    """The stored numbers; errors are those of ``stored_run.read``."""
    return stored_run.read(Found, file, "whose_heads_name_mary")


def minus(value: Interval) -> Interval:
    """What is taken away, where the interval says what was added.

    >>> minus(Interval(1.0, 0.5, 2.0))
    -1.00 (-2.00 to -0.50)
    """
    return Interval(-value.mean, -value.high, -value.low)
