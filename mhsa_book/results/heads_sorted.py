"""What the 270 heads of SmolLM2 look at, text by text, and what the first token is for.

``python -m mhsa_book.experiments.heads_sorted`` makes the file.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mhsa_book.results import bootstrap, stored_run
from mhsa_book.results.bootstrap import Interval

FILE = Path(__file__).parent / "data" / "heads_sorted.json"


@dataclass(frozen=True)
class Found:
    """The stored numbers.

    Parameters
    ----------
    predictions : what was expected, in sentences
    predictions_commit : the commit that holds them
    date : of the run, as in 2026-01-31
    machine : where it ran, and seconds of processor
    model : SHA-256 of the file of the model
    heads : for every set of texts and every measure, the 270 heads' numbers in each text
    first : for every way to take the first token away, its loss in each passage, and what else
        was measured there
    """

    predictions: tuple[str, ...]
    predictions_commit: str
    date: str
    machine: dict[str, Any]
    model: str
    heads: dict[str, dict[str, list[list[float]]]]
    first: dict[str, list[float]]

    def table(self, texts: str, measure: str) -> Tensor:
        """The mean of a measure over a set of texts, (layer, head)."""
        return torch.tensor(self.heads[texts][measure]).mean(dim=0).view(30, 9)

    def of_head(self, texts: str, measure: str, layer: int, head: int) -> Interval:
        """The mean of a measure for one head, with a bootstrap interval over texts."""
        return bootstrap.mean_of([row[9 * layer + head] for row in self.heads[texts][measure]])

    def change(self, way: str) -> Interval:
        """By how much a way to take the first token away raises the loss, in nats."""
        both = zip(self.first[way], self.first["nothing changed"], strict=True)
        return bootstrap.mean_of([after - before for after, before in both])

    def of_passages(self, name: str) -> Interval:
        """The mean of another number over passages."""
        return bootstrap.mean_of(self.first[name])


def save(found: Found, file: Path = FILE) -> None:
    """Write it whole or not at all; ``ValueError`` for more than 300 kB."""
    stored_run.write(found, file)


def kept(file: Path = FILE) -> Found:
    """The stored numbers; errors are those of ``stored_run.read``."""
    return stored_run.read(Found, file, "heads_sorted")
