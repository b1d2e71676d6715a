"""What the experiments gave: kept numbers of every seed, and how far they spread."""

import json
from dataclasses import dataclass
from math import nan
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from mhsa_lib.results.lookup import stored

FOLDER = Path(__file__).parent / "data" / "experiments"


@dataclass(frozen=True)
class Results:
    """One experiment: its question, what was measured, and per model the number of every seed.

    ``values`` maps a model's name to its numbers, in the order of ``seeds``; ``parameters`` to
    the count of what it learns. ``machine`` says where and how long.

    >>> results = Results("demo", "Is b better?", "accuracy", (0, 1), {"a": 5, "b": 5},
    ...                   {"a": (0.5, 0.7), "b": (0.8, 0.8)}, {})
    >>> results
    demo: Is b better?
    accuracy, mean ± standard deviation of 2 seeds
    a  0.600 ± 0.141  5 parameters
    b  0.800 ± 0.000  5 parameters
    """

    name: str
    question: str
    measure: str
    seeds: tuple[int, ...]
    parameters: dict[str, int]
    values: dict[str, tuple[float, ...]]
    machine: dict[str, Any]

    def mean(self, model: str) -> float:
        """Mean over the seeds."""
        return mean(self.values[model])

    def spread(self, model: str) -> float:
        """Standard deviation over the seeds; not a number for one alone."""
        return stdev(self.values[model]) if len(self.values[model]) > 1 else nan

    def __repr__(self) -> str:
        widest = max(map(len, self.values))
        rows = [
            f"{model:{widest}}  {self.mean(model):.3f} ± {self.spread(model):.3f}  "
            f"{self.parameters[model]:,} parameters"
            for model in self.values
        ]
        title = f"{self.measure}, mean ± standard deviation of {len(self.seeds)} seeds"
        return "\n".join([f"{self.name}: {self.question}", title, *rows])


def kept(name: str, folder: Path = FOLDER) -> Results:
    """The stored results of an experiment; ``ValueError`` names those there are.

    >>> kept("no such experiment")
    Traceback (most recent call last):
    ...
    ValueError: no results are kept for 'no such experiment'; there are: ...
    """
    file = stored(folder, name, f"no results are kept for {name!r}")
    found = json.loads(file.read_text(encoding="utf-8"))
    values = {model: tuple(numbers) for model, numbers in found.pop("values").items()}
    return Results(**(found | {"seeds": tuple(found["seeds"]), "values": values}))
