"""Runs as JSON files: whole or not at all, small, and read back only if every name is known."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mhsa_book.results.curves import Curve
from mhsa_book.results.exactly import exactly
from mhsa_book.results.lookup import stored
from mhsa_book.results.paired import Measure
from mhsa_book.results.runs import Arm, Runs
from mhsa_book.results.whole import write_whole

FOLDER = Path(__file__).parent / "data" / "runs"
LIMIT = 300_000
"""Bytes that a file may have."""


def save(runs: Runs, file: Path) -> None:
    """Write runs, a curve a line, whole or not at all.

    Raises ``ValueError`` for more than 300 kB, and for what JSON does not hold as it is.

    >>> from tempfile import TemporaryDirectory
    >>> curve = Curve((1, 2), (0.5, 1.0))
    >>> arm = Arm({}, 0.01, (0.01,), (100,), {seed: curve for seed in range(8)})
    >>> runs = Runs("demo", "Does it?", Measure("accuracy"), 1.0, 0.01, {"a": arm, "b": arm},
    ...             ("a", "b"), ("It does.",), "0" * 40, "2026-01-31")
    >>> with TemporaryDirectory() as folder:
    ...     save(runs, Path(folder, "demo.json"))
    ...     kept("demo", Path(folder)) == runs
    True
    """
    text = _written(asdict(runs)) + "\n"
    if _made(json.loads(text), file.name) != runs:
        raise ValueError(
            f"{file.name} would not read back as it was; settings and machine hold text, "
            f"numbers, booleans, and lists or dicts of them under text."
        )
    size = len(text.encode())
    if size > LIMIT:
        raise ValueError(
            f"{file.name} would have {size:,} bytes, and {LIMIT:,} is the limit; evaluate less "
            f"often, or round the values."
        )
    write_whole(file, text)


def load(file: Path) -> Runs:
    """Read what ``save`` wrote; ``ValueError`` names what is unknown or missing in it."""
    return _made(json.loads(file.read_text(encoding="utf-8")), file.name)


def kept(name: str, folder: Path = FOLDER) -> Runs:
    """The stored runs of that name; ``ValueError`` names those there are.

    >>> kept("no such runs")
    Traceback (most recent call last):
    ...
    ValueError: no runs are kept as 'no such runs'; there are: ...
    """
    return load(stored(folder, name, f"no runs are kept as {name!r}"))


def _made(found: Mapping[str, Any], where: str) -> Runs:
    whole = exactly(Runs, found, where)
    arms = {name: _arm(arm, f"{where}, arm {name!r}") for name, arm in whole["arms"].items()}
    measure = Measure(**exactly(Measure, whole["measure"], f"{where}, measure"))
    floor, predictions = tuple(whole["floor"]), tuple(whole["predictions"])
    made = {"arms": arms, "measure": measure, "floor": floor, "predictions": predictions}
    return Runs(**(whole | made))


def _arm(found: Mapping[str, Any], where: str) -> Arm:
    arm = exactly(Arm, found, where)
    curves = {}
    for seed, curve in arm["curves"].items():
        parts = exactly(Curve, curve, f"{where}, seed {seed}")
        curves[int(seed)] = Curve(tuple(parts["steps"]), tuple(parts["values"]))
    rates, tuned_on = tuple(arm["rates"]), tuple(arm["tuned_on"])
    return Arm(**(arm | {"curves": curves, "rates": rates, "tuned_on": tuned_on}))


def _written(whole: dict[str, Any]) -> str:
    """JSON with a line for every field, and for every curve."""
    arms = ",\n".join(f"{json.dumps(name)}: {_lines(a)}" for name, a in whole["arms"].items())
    rest = {name: value for name, value in whole.items() if name != "arms"}
    return f'{_open(rest)},\n"arms": {{\n{arms}\n}}\n}}'


def _lines(arm: dict[str, Any]) -> str:
    curves = ",\n".join(f'"{seed}": {_dumped(c)}' for seed, c in arm["curves"].items())
    rest = {name: value for name, value in arm.items() if name != "curves"}
    return f'{_open(rest)},\n"curves": {{\n{curves}\n}}}}'


def _open(rest: dict[str, Any]) -> str:
    return "{" + ",\n".join(f"{json.dumps(n)}: {_dumped(v)}" for n, v in rest.items())


def _dumped(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
