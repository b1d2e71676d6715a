"""What heads of SmolLM2 write when others are off, or are told something else.

``python -m mhsa_book.experiments.who_steps_in`` makes the file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mhsa_book.results import bootstrap, stored_run
from mhsa_book.results.bootstrap import Interval
from mhsa_book.results.whose_heads_name_mary import Numbers

FILE = Path(__file__).parent / "data" / "who_steps_in.json"

LEAD = "lead"
"""By this name the change of the lead stands among the heads."""


@dataclass(frozen=True)
class SteppedIn:
    """The stored numbers; a list of one number is a mean, others have a number a prompt.

    Parameters
    ----------
    predictions : what was expected, in sentences
    predictions_commit : the commit that holds them
    date : of the run, as in 2026-01-31
    machine : where it ran, and seconds of processor
    off : for every template and what is off, by how much more every head writes for the right
        name, and under ``LEAD`` the change of the lead
    told : for every template and receiver, by how much more it writes if a head tells its
        queries what it found in the source
    """

    predictions: tuple[str, ...]
    predictions_commit: str
    date: str
    machine: dict[str, Any]
    off: dict[str, dict[str, Numbers]]
    told: dict[str, dict[str, Numbers]]

    @property
    def templates(self) -> tuple[str, ...]:
        """Those with held-out names."""
        return tuple(self.off)

    def without(self, off: str, what: str | tuple[str, ...], *templates: str) -> Interval:
        """What a head, heads together or ``LEAD`` gain without others, over prompts."""
        return _pooled(self.off, off, what, templates or self.templates)

    def told_by(self, sender: str, receiver: str, *templates: str) -> Interval:
        """What a receiver writes more if a sender tells its queries of the source."""
        return _pooled(self.told, receiver, sender, templates or self.templates)


def _pooled(
    numbers: Mapping[str, Mapping[str, Numbers]],
    which: str,
    what: str | tuple[str, ...],
    templates: tuple[str, ...],
) -> Interval:
    heads = (what,) if isinstance(what, str) else what
    prompts: list[float] = []
    for template in templates:
        each = [numbers[template][which][head] for head in heads]
        prompts += map(sum, zip(*each, strict=True))
    return bootstrap.mean_of(prompts)


def save(found: SteppedIn, file: Path = FILE) -> None:
    """Write it whole or not at all; ``ValueError`` for more than 300 kB."""
    stored_run.write(found, file)


def kept(file: Path = FILE) -> SteppedIn:
    """The stored numbers; errors are those of ``stored_run.read``."""
    return stored_run.read(SteppedIn, file, "who_steps_in")
