"""The study of pruning as the command line lists it."""

from textwrap import indent

from mhsa_book.experiments.planned import numbered
from mhsa_book.experiments.pruning.plan import Plan
from mhsa_book.experiments.pruning.predictions import PREDICTIONS
from mhsa_book.results import pruning

QUESTION = "Which heads can go, and by which measure should they be chosen?"


def listed() -> str:
    """Question, predictions, and when it was run if it was, as ``--list`` shows them.

    >>> listed().splitlines()[0].split("? ")
    ['pruning: Which heads can go, ... be chosen', '8 models']
    """
    stored = "not stored"
    if pruning.FILE.is_file():
        kept = pruning.kept()
        minutes = kept.machine["seconds"] / 60
        stored = f"stored {kept.date}: {minutes:.0f} minutes of processor"
    how = "run by python -m mhsa_book.experiments.pruning"
    said = indent("\n".join([numbered(PREDICTIONS, 84), stored, how]), "  ")
    return f"pruning: {QUESTION} {len(Plan().seeds)} models\n{said}"
