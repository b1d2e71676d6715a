"""What a script measured once, with its predictions: numbers by name, one file a script."""

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mhsa_book.results.exactly import exactly
from mhsa_book.results.run_files import LIMIT
from mhsa_book.results.whole import write_whole

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
    text = json.dumps(asdict(measured), allow_nan=False, separators=(",", ":"))
    if (size := len(text.encode())) > LIMIT:
        raise ValueError(f"{name} would have {size:,} bytes, and {LIMIT:,} is the limit.")
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / f"{name}.json", re.sub(r'(?<=[\]}]),"', ',\n"', text) + "\n")


def kept(name: str, folder: Path = FOLDER) -> Measured:
    """Return the stored numbers of a script.

    Raises ``FileNotFoundError``, which says how to make them, and ``ValueError`` for fields
    that are unknown or missing.
    """
    file = folder / f"{name}.json"
    if not file.is_file():
        raise FileNotFoundError(
            f"{file} is missing; run `python -m mhsa_book.experiments.{name}`."
        )
    stored = exactly(Measured, json.loads(file.read_text(encoding="utf-8")), file.name)
    return Measured(**(stored | {"predictions": tuple(stored["predictions"])}))
