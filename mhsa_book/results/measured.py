"""What a script measured once, with its predictions: numbers by name, one file a script."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mhsa_book.results import stored_run

FOLDER = Path(__file__).parent / "data" / "measured"


@dataclass(frozen=True)
class Measured:
    """The stored numbers of one script.

    Parameters
    ----------
    predictions : what was expected, in sentences
    predictions_commit : the commit that holds them
    date : of the run, as in 2026-01-31
    machine : where it ran, and seconds of processor
    found : what was measured, by name
    """

    predictions: tuple[str, ...]
    predictions_commit: str
    date: str
    machine: dict[str, Any]
    found: dict[str, Any]


def save(name: str, measured: Measured, folder: Path = FOLDER) -> None:
    """Write it whole or not at all; ``ValueError`` for more than 300 kB."""
    stored_run.write(measured, folder / f"{name}.json")


def kept(name: str, folder: Path = FOLDER) -> Measured:
    """Return the stored numbers of a script; errors are those of ``stored_run.read``."""
    return stored_run.read(Measured, folder / f"{name}.json", name)
