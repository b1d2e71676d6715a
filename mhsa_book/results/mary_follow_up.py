"""Five questions about the heads that name Mary, asked when all other results were known.

``python -m mhsa_book.experiments.mary_follow_up`` makes the file.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mhsa_book.results import bootstrap, stored_run
from mhsa_book.results.bootstrap import Interval
from mhsa_book.results.whose_heads_name_mary import Found, Numbers

FILE = Path(__file__).parent / "data" / "mary_follow_up.json"


@dataclass(frozen=True)
class FollowedUp:
    """The stored numbers, one a prompt; nothing was predicted.

    Parameters
    ----------
    date : of the run, as in 2026-01-31
    machine : where it ran, and seconds of processor
    stand_ins : for every template and way, what stands in for a head writes into the lead
    turned : for every template, what a head writes with three others off
    together : for every template, what changes in the lead if L20H0 lies to the queries of
        several heads at once, whose names have a space between them
    by_key : for every template, head and place, what a head writes of the token there
    drawn : for every template and six heads of the sixteen, the lead with them off
    """

    date: str
    machine: dict[str, Any]
    stand_ins: dict[str, dict[str, Numbers]]
    turned: dict[str, Numbers]
    together: dict[str, Numbers]
    by_key: dict[str, dict[str, Numbers]]
    drawn: dict[str, Numbers]

    @property
    def templates(self) -> tuple[str, ...]:
        """Those with held-out names."""
        return tuple(self.stand_ins)

    def replaced(self, found: Found, head: str, way: str) -> Interval:
        """What a head's own term changes in the lead if something stands in its place.

        It is what the stand-in writes minus what the head writes, which ``found`` has.
        """
        gains: list[float] = []
        for template in self.templates:
            instead = self.stand_ins[template][way][head]
            written = found.watched[template]["direct"][head]
            gains += [a - b for a, b in zip(instead, written, strict=True)]
        return bootstrap.mean_of(gains)

    def writes_then(self, head: str, *templates: str) -> Interval:
        """What a head writes with L23H3, L16H0 and L19H2 off, over prompts."""
        chosen = templates or self.templates
        return bootstrap.mean_of([v for t in chosen for v in self.turned[t][head]])

    def told_together(self, receivers: str, *templates: str) -> Interval:
        """The change of the lead if L20H0 lies to several heads at once, over prompts."""
        chosen = templates or self.templates
        return bootstrap.mean_of([v for t in chosen for v in self.together[t][receivers]])

    def writes_of(self, head: str, place: str) -> Interval:
        """What a head writes by its weight on the token at a place, over prompts."""
        return bootstrap.mean_of(
            [v for t in self.templates for v in self.by_key[t][head][place]]
        )

    def still_right(self, heads: str) -> int:
        """On how many prompts the right name leads with six heads off."""
        return sum(lead > 0 for t in self.templates for lead in self.drawn[t][heads])


def save(found: FollowedUp, file: Path = FILE) -> None:
    """Write it whole or not at all; ``ValueError`` for more than 300 kB."""
    stored_run.write(found, file)


def kept(file: Path = FILE) -> FollowedUp:
    """The stored numbers; errors are those of ``stored_run.read``."""
    return stored_run.read(FollowedUp, file, "mary_follow_up")
