"""Reports as JSON files: written whole or not at all, and read back as what they were."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mhsa_book.results import lookup
from mhsa_book.results.cells import Cell
from mhsa_book.results.records import Entry, Peak, Race, Report
from mhsa_book.results.whole import write_whole

FOLDER = Path(__file__).parent / "data" / "bench"


def save(report: Report, file: Path) -> None:
    """Write a report whole or not at all."""
    lines = asdict(report)
    parts = {name: lines.pop(name) for name in ("races", "peaks")}
    text = json.dumps(lines, allow_nan=False)[:-1]
    for name, rows in parts.items():
        written = ",\n".join(
            json.dumps(_short(row), allow_nan=False, separators=(",", ":")) for row in rows
        )
        text += f',\n"{name}": [\n{written}\n]'
    write_whole(file, text + "}\n")


def load(file: Path) -> Report:
    """Read a report that ``save`` wrote."""
    stored = json.loads(file.read_text(encoding="utf-8"))
    races = tuple(_race(race) for race in stored.pop("races"))
    peaks = tuple(Peak(**peak) for peak in stored.pop("peaks"))
    return Report(**stored, races=races, peaks=peaks)


def kept(name: str, folder: Path = FOLDER) -> Report:
    """The stored benchmark of that name; ``ValueError`` names those there are."""
    return load(lookup.stored(folder, name, f"no benchmark is kept as {name!r}"))


def _race(stored: dict[str, Any]) -> Race:
    against = stored["against_best"]
    entries = tuple(
        Entry(**{"ratio": None, **e, **({"ratio": tuple(e["ratio"])} if "ratio" in e else {})})
        for e in stored["entries"]
    )
    return Race(
        **stored
        | {
            "cell": Cell(**stored["cell"]),
            "entries": entries,
            "against_best": None if against is None else tuple(against),
        }
    )


def _short(value: Any) -> Any:
    """Four digits are enough, and what is empty is left out of an entry."""
    if isinstance(value, float):
        return float(f"{value:.4g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        entry = "gradient_error" in value
        kept = {k: v for k, v in value.items() if not entry or v not in (None, "", 0)}
        return {name: _short(v) for name, v in kept.items()}
    return [_short(v) for v in value] if isinstance(value, list | tuple) else value
