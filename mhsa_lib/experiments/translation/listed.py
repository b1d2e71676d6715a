"""The study of translators as the command line lists it."""

from textwrap import fill

from mhsa_lib.experiments.translation.predictions import PREDICTIONS
from mhsa_lib.results import translators

QUESTION = "What is each kind of attention in a Transformer needed for?"


def listed(width: int = 88) -> str:
    """Question, predictions, time and date, as ``--list`` shows them.

    >>> listed().splitlines()[0].split("? ")
    ['translation: What ... needed for', '8 models, 1,200 steps']
    """
    kept = translators.kept()
    size = f"{len(kept.seeds)} models, {kept.settings['steps']:,} steps"
    expected = [
        fill(text, width, initial_indent=f"  {i}. ", subsequent_indent="     ")
        for i, text in enumerate(PREDICTIONS, start=1)
    ]
    minutes = kept.machine["seconds of measuring"] / 60
    stored = f"  stored {kept.machine['date']}: {minutes:.0f} minutes of measuring on 1 core"
    how = "  run by tools.build.train_translator, measure_translators and train_without"
    return "\n".join([f"translation: {QUESTION} {size}", *expected, stored, how])
