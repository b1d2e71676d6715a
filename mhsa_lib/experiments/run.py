"""One experiment, run for every model and seed: what came out is kept in ``results``."""

from collections.abc import Callable
from typing import Any

from mhsa_lib.experiments.training import n_parameters
from mhsa_lib.results.experiments import Results


def measured(
    experiment: Any, seeds: tuple[int, ...], progress: Callable[[Any], Any] = iter
) -> Results:
    """Run an experiment for every model and seed; ``progress`` wraps the list of runs.

    >>> from types import SimpleNamespace
    >>> from torch import nn
    >>> coin = SimpleNamespace(NAME="coin", QUESTION="Is it fair?", MEASURE="heads",
    ...     models=lambda: {"coin": lambda: nn.Linear(1, 1)}, run=lambda model, seed: seed / 2)
    >>> measured(coin, seeds=(0, 1)).values
    {'coin': (0.0, 0.5)}
    """
    runs = [(model, seed) for model in experiment.models() for seed in seeds]
    found: dict[str, list[float]] = {model: [] for model in experiment.models()}
    for model, seed in progress(runs):
        found[model].append(round(experiment.run(model, seed), 6))
    sizes = {model: n_parameters(build()) for model, build in experiment.models().items()}
    return Results(
        experiment.NAME,
        experiment.QUESTION,
        experiment.MEASURE,
        seeds,
        sizes,
        {model: tuple(numbers) for model, numbers in found.items()},
        {},
    )
