"""Does what one layer does with a text that repeats depend on how long it was trained?

Of the five models of one layer in ``fixed_distances``, one was trained for 5,000 steps and four
for 1,000. The one that was trained longer lost more than the others when it was made blind. But
it also had another seed, so either could be the reason. Here the five are trained again, each
for the number of steps that it did not have there, and measured in the same way. There are no
predictions: a reader asked for it when the first five had been seen.

``python -m mhsa_book.experiments.more_steps`` runs it and goes on where it was stopped.
"""

import datetime
from pathlib import Path
from typing import Any

from mhsa_book.experiments import fixed_distances, running, units
from mhsa_book.experiments.induction import EIGHT
from mhsa_book.results import measured as results
from mhsa_book.results.measured import Measured

SHORTER, LONGER = 1000, 5000
"""Steps; the shorter number is the one of four of the first five models."""

KEYS = ((0, SHORTER), *((seed, LONGER) for seed in range(1, 5)))
"""The seed and the steps of every model that is trained here."""


def measured(key: tuple[int, int]) -> dict[str, Any]:
    """Train the model of one layer with a seed for a number of steps, and measure it."""
    seed, steps = key
    return fixed_distances.measured((EIGHT, *fixed_distances.SHORT, seed), steps)


def by_seed() -> dict[int, dict[str, Any]]:
    """What is stored of the models that are trained here, by seed."""
    added = results.kept("more_steps").found
    return {seed: added[f"seed {seed}"] for seed, _ in KEYS}


def models_at(steps: int) -> list[dict[str, Any]]:
    """What is stored of the five models after so many steps, by seed, from both runs.

    >>> [model["steps"] for model in models_at(LONGER)]
    [5000, 5000, 5000, 5000, 5000]
    """
    before = results.kept("fixed_distances").found
    first = fixed_distances.models_of(before, EIGHT)
    added = by_seed()
    return [
        model if model["steps"] == steps else added[seed] for seed, model in enumerate(first)
    ]


def run(folder: Path) -> Measured:
    """Measure what is not yet kept in ``folder``, and put all of it together."""
    parts = units.done(measured, KEYS, folder / "more_steps", n_processes=1)
    seconds = sum(part.pop("seconds") for part in parts.values())
    machine = running.machine() | {"seconds": round(seconds), "processes": 1}
    found = {f"seed {seed}": part for (seed, _), part in parts.items()}
    return Measured((), "", datetime.date.today().isoformat(), machine, found)


if __name__ == "__main__":
    results.save("more_steps", run(Path("build/experiments")))
