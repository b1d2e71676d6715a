"""What heads of SmolLM2 write when others are off, or are told something else.

``python -m mhsa_book.experiments.who_steps_in`` makes the file.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mhsa_book.results.bootstrap import Interval
from mhsa_book.results.exactly import exactly
from mhsa_book.results.run_files import LIMIT
from mhsa_book.results.whole import write_whole
from mhsa_book.results.whose_heads_name_mary import Numbers, interval

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
    return interval(prompts)


def save(found: SteppedIn, file: Path = FILE) -> None:
    """Write it whole or not at all; ``ValueError`` for more than 300 kB."""
    text = json.dumps(asdict(found), allow_nan=False, separators=(",", ":"))
    if (size := len(text.encode())) > LIMIT:
        raise ValueError(f"{file.name} would have {size:,} bytes, and {LIMIT:,} is the limit.")
    write_whole(file, re.sub(r'(?<=\]),"', ',\n"', text) + "\n")


def kept(file: Path = FILE) -> SteppedIn:
    """The stored numbers.

    Raises ``FileNotFoundError``, which says how to make them, and ``ValueError`` for fields
    that are unknown or missing.
    """
    if not file.is_file():
        raise FileNotFoundError(
            f"{file} is missing; run `python -m mhsa_book.experiments.who_steps_in`."
        )
    found = exactly(SteppedIn, json.loads(file.read_text(encoding="utf-8")), file.name)
    return SteppedIn(**(found | {"predictions": tuple(found["predictions"])}))
