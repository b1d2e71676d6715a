"""One stored run as a JSON file: whole or not at all, small, read back only if it fits."""

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from mhsa_book.results.exactly import exactly
from mhsa_book.results.run_files import LIMIT
from mhsa_book.results.whole import write_whole

Run = TypeVar("Run")


def write(found: Any, file: Path) -> None:
    """Write a dataclass whole or not at all; ``ValueError`` for more than 300 kB."""
    text = json.dumps(asdict(found), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    if (size := len(text.encode())) > LIMIT:
        raise ValueError(
            f"{file.name} would have {size:,} bytes, and {LIMIT:,} is the limit; store fewer "
            f"numbers, or round them."
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    # One field or entry a line, so that a change of one shows as a change of one line.
    write_whole(file, re.sub(r'(?<=[\]}]),"', ',\n"', text) + "\n")


def read(kind: type[Run], file: Path, script: str) -> Run:
    """Return the stored run, with its predictions as a tuple where it has some.

    Raises ``FileNotFoundError``, which names the script of ``mhsa_book.experiments`` that makes
    the file, and ``ValueError`` for fields that are unknown or missing.
    """
    if not file.is_file():
        raise FileNotFoundError(
            f"{file} is missing; run `python -m mhsa_book.experiments.{script}`."
        )
    stored = exactly(kind, json.loads(file.read_text(encoding="utf-8")), file.name)
    if "predictions" in stored:
        stored["predictions"] = tuple(stored["predictions"])
    return kind(**stored)
