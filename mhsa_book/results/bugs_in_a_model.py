"""What SmolLM2 writes and reads with a bug of the museum in all of its layers.

``python -m mhsa_book.experiments.bugs_in_a_model`` makes the file.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from mhsa_book.results import bootstrap, stored_run
from mhsa_book.results.bootstrap import Interval

FILE = Path(__file__).parent / "data" / "bugs_in_a_model.json"

RIGHT = "right"
"""The attention that has no mistake."""

SECRET = "the_last_text_is_remembered"


@dataclass(frozen=True)
class Found:
    """The stored texts and losses.

    Parameters
    ----------
    predictions : what was expected, in sentences
    predictions_commit : the commit that holds them
    date : of the run, as in 2026-01-31
    machine : where it ran, and seconds of processor
    model : SHA-256 of the file of the model
    writes : for every mistake, and "right", the text behind each of four beginnings
    reads : the mean loss per token of each of sixteen sentences, in nats
    surprise : the loss of the right model on each text that was written
    alone : what the right model writes where the text before is gone
    """

    predictions: tuple[str, ...]
    predictions_commit: str
    date: str
    machine: dict[str, Any]
    model: str
    writes: dict[str, list[str]]
    reads: dict[str, list[float]]
    surprise: dict[str, list[float]]
    alone: list[str]

    def costs(self, name: str) -> Interval:
        """By how many nats per token it reads worse, with a bootstrap interval over sentences.

        >>> kept().costs("right").mean
        0.0
        """
        pairs = zip(self.reads[name], self.reads[RIGHT], strict=True)
        changes = torch.tensor([wrong - right for wrong, right in pairs])
        return bootstrap.mean(changes, torch.ones(len(changes)))

    def loss(self, name: str) -> float:
        """The mean loss per token over all sentences, each of them alike."""
        return sum(self.reads[name]) / len(self.reads[name])

    def first_word_is_right(self, name: str, text: int) -> bool:
        """Whether a text begins like the right one: with the same word, whatever follows it.

        >>> kept().first_word_is_right("positions_begin_again", 1)  # " girl, a", " girl named"
        True
        """
        return first_word(self.writes[name][text]) == first_word(self.writes[RIGHT][text])

    def tells(self, secrets: Sequence[str]) -> list[bool]:
        """Whether a text tells what only the text before it can know, and does not alone."""
        texts = zip(self.writes[SECRET], self.alone, secrets, strict=True)
        return [secret in told and secret not in alone for told, alone, secret in texts]


def first_word(text: str) -> str:
    """The word with which a text begins, without what follows it.

    >>> first_word(" girl, a young girl")
    'girl'
    """
    found = re.match(r"\s*(\w+)", text)
    return found[1] if found else ""


def save(found: Found, file: Path = FILE) -> None:
    """Write it whole or not at all; ``ValueError`` for more than 300 kB."""
    stored_run.write(found, file)


def kept(file: Path = FILE) -> Found:
    """The stored numbers; errors are those of ``stored_run.read``."""
    return stored_run.read(Found, file, "bugs_in_a_model")
