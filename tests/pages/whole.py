"""When an opened page is whole, over http and from a file alike."""

from tools.check.browser import Visit

TROUBLE = ["Traceback (most recent call last)", "<Figure size", "<Axes:", "could not start"]
DOCSTRINGS = ("_modules", "book/api")  # where an example may show one


def wrong(seen: Visit) -> list[str]:
    """All that is wrong with a page, in words: its complaints, and traces of trouble.

    It asks no other host, misses no file, and its console is clean; every formula is typeset,
    every live figure alive, and every view of BertViz drawn.
    """
    chapter = not seen.name.startswith(DOCSTRINGS)
    return seen.complaints + [f"shows {w!r}" for w in TROUBLE if chapter and w in seen.text]
