"""The stored run of ``bugs_in_a_model`` as a table to read, and to share."""

import inspect
from textwrap import fill

from mhsa_book import museum
from mhsa_book.experiments import bugs_in_a_model as bugs
from mhsa_book.museum.catalogue import CATALOGUE
from mhsa_book.results.bootstrap import Interval
from mhsa_book.results.bugs_in_a_model import RIGHT, Found, first_word
from mhsa_book.results.tables import Table

NO_EXHIBIT = {
    RIGHT: ("No mistake.", ""),
    "rotation_forgotten": (
        "Queries and keys are not rotated.",
        "Exchange two earlier words: a head's score for them has to change.",
    ),
}
"""Title and check of what is in the run and not in the museum."""

SHOWS, WAITS = "tokens see later ones", "only a cache meets it"

REJECTED = "rejected_tokens_stay"

WIDTH = 88
"""Of a line on a page."""


def table(found: Found, text: int = 0) -> Table:
    """A row for each bug: what it writes, its loss on sixteen sentences, and how to notice it.

    The right attention comes first, then the bugs by their loss. Bugs that are in the text,
    and not in the attention, have no loss and are left out. ``text`` says which of the four
    beginnings is shown.
    """
    names = sorted(found.reads, key=lambda name: (name != RIGHT, found.loss(name)))
    rows = []
    for name in names:
        title, check = said(name)
        rows.append(
            (title, _one_line(found.writes[name][text]), f"{found.loss(name):.1f}", check)
        )
    caption = "SmolLM2 with a bug in all 30 layers. The loss is in nats per token."
    head = ("the bug", f"{bugs.BEGINNINGS[text]}…", "loss", "a check that finds it")
    return Table(caption, head, tuple(rows))


def texts(found: Found, name: str) -> None:
    """Print what a bug is, and what the model writes with it behind each beginning.

    Draft tokens that were rejected are in brackets. The word behind them is the one that was
    chosen in their place, which is the right one.

    >>> from mhsa_book.results.bugs_in_a_model import kept
    >>> texts(kept(), "causal_from_the_top_left")  # doctest: +ELLIPSIS
    The triangle begins at the first key: with a cache, a new token sees only that one.
      The capital of France is… Paris and,,,,,,,,,,
    ...
    """
    print(fill(said(name)[0], WIDTH))
    for i, beginning in enumerate(bugs.BEGINNINGS):
        before, text = beginning, found.writes[name][i]
        if name == REJECTED:
            before += f" [{bugs.DRAFTS[i].strip()}]"
            text = first_word(found.writes[RIGHT][i]) + text
        print(fill(f"  {before}{_one_line(text)}", WIDTH, subsequent_indent=" " * 6))


def costs(found: Found) -> dict[str, dict[str, Interval]]:
    """What each bug costs, in three groups: it shows the future, waits for a cache, or neither.

    >>> from mhsa_book.results.bugs_in_a_model import kept
    >>> [*costs(kept())["only a cache meets it"]]
    ['positions begin again', 'causal from the top left', 'keys turned again']
    """
    leaks = {each.name for each in museum.exhibits(symptom="leaks")}
    groups = {SHOWS: leaks, WAITS: {*bugs.IN_A_CACHE}}
    groups["neither"] = {*found.reads} - {RIGHT}.union(*groups.values())
    return {
        group: {
            name.replace("_", " ").replace("W O", "W_O"): found.costs(name)
            for name in found.reads
            if name in names
        }
        for group, names in groups.items()
    }


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
