"""The stored run of ``bugs_in_a_model`` as a table to read, and to share."""

import inspect

from mhsa_book import museum
from mhsa_book.museum.catalogue import CATALOGUE
from mhsa_book.results.bugs_in_a_model import RIGHT, Found
from mhsa_book.results.tables import Table

NO_EXHIBIT = {
    RIGHT: ("No mistake.", ""),
    "rotation_forgotten": (
        "Queries and keys are not rotated.",
        "Exchange two earlier words: a head's score for them has to change.",
    ),
}
"""Title and check of what is in the run and not in the museum."""

HEAD = ("the bug", "what it writes", "and then", "loss", "a check that finds it")


def table(found: Found, first: int = 0, second: int = 1) -> Table:
    """A row for each bug: two texts, its loss on sixteen sentences, and how to notice it.

    The right attention comes first, then the bugs by their loss. Bugs that are in the text,
    and not in the attention, have no loss and are left out.
    """
    names = sorted(found.reads, key=lambda name: (name != RIGHT, found.loss(name)))
    rows = []
    for name in names:
        title, check = said(name)
        texts = [_one_line(found.writes[name][i]) for i in (first, second)]
        rows.append((title, *texts, f"{found.loss(name):.1f}", check))
    caption = "SmolLM2 with a bug in all 30 layers. The loss is in nats per token."
    return Table(caption, HEAD, tuple(rows))


def said(name: str) -> tuple[str, str]:
    """What a bug is, and the first line of the check that finds it.

    >>> said("no_scale")[0]
    'Scores are not divided by √d_head.'
    """
    if name not in CATALOGUE:
        return NO_EXHIBIT[name]
    exhibit = museum.exhibit(name)
    return exhibit.title, (inspect.getdoc(exhibit.check) or "").splitlines()[0]


def _one_line(text: str) -> str:
    return "… " + " ↵ ".join(part for part in text.strip().split("\n") if part)
