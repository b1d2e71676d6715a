"""What the heads of eight translators look at, and of four that never had one attention.

``python -m mhsa_book.experiments.translation.at_work`` makes the file.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mhsa_book.results.translators import Spread

FILE = Path(__file__).with_name("measured.json")


@dataclass(frozen=True)
class AtWork:
    """The stored numbers.

    Parameters
    ----------
    predictions : what was expected, in sentences
    predictions_commit : the commit that holds them
    machine : when it ran, and on how many pairs
    models : by seed, measure and head the mean weight on the half of the pairs that chooses,
        and on the other half
    never : the same of translators that never had the encoder's self-attention
    sure_of_wrong : by seed, kind that is off, and task: how often a wrong word is the
        likeliest, and how often it gets more than 0.9
    """

    predictions: tuple[str, ...]
    predictions_commit: str
    machine: dict[str, Any]
    models: dict[str, dict[str, dict[str, list[float]]]]
    never: dict[str, dict[str, dict[str, list[float]]]]
    sure_of_wrong: dict[str, dict[str, dict[str, list[float]]]]

    def chosen(self, measure: str, *, never: bool = False) -> tuple[str, ...]:
        """For every seed the head that gives most weight on the half that chooses."""
        models = self.never if never else self.models
        return tuple(
            max(found[measure], key=lambda head: found[measure][head][0])
            for found in models.values()
        )

    def held_out(self, measure: str, by: str = "", *, never: bool = False) -> Spread:
        """For every seed the weight on the other half; the head is chosen ``by`` a measure.

        >>> [weight > 0.5 for weight in kept().held_out("translated words")]
        [True, True, True, True, True, True, True, True]
        """
        models = self.never if never else self.models
        heads = self.chosen(by or measure, never=never)
        return Spread(
            found[measure][head][1] for found, head in zip(models.values(), heads, strict=True)
        )


def kept(path: Path = FILE) -> AtWork:
    """The stored numbers; ``FileNotFoundError`` says how to make them again."""
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is missing; run `python -m mhsa_book.experiments.translation.at_work`."
        )
    found = json.loads(path.read_text(encoding="utf-8"))
    return AtWork(**{**found, "predictions": tuple(found["predictions"])})
