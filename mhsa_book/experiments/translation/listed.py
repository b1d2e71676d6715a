"""The study of translators as the command line lists it."""

from textwrap import indent

from mhsa_book.experiments.planned import numbered
from mhsa_book.experiments.translation.predictions import PREDICTIONS
from mhsa_book.results import translators

QUESTION = "What is each kind of attention in a Transformer needed for?"
HOW = "run by tools.build.train_translator, measure_translators and train_without"


def listed() -> str:
    """Question, predictions, time and date, as ``--list`` shows them.

    >>> listed().splitlines()[0].split("? ")
    ['translation: What ... needed for', '8 models, 1,200 steps']
    """
    kept = translators.kept()
    size = f"{len(kept.seeds)} models, {kept.settings['steps']:,} steps"
    minutes = kept.machine["seconds of measuring"] / 60
    stored = f"stored {kept.machine['date']}: {minutes:.0f} minutes of measuring on 1 core"
    said = indent("\n".join([numbered(PREDICTIONS, 84), stored, HOW]), "  ")
    return f"translation: {QUESTION} {size}\n{said}"
