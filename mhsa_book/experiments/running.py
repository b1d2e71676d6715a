"""Run an experiment: tune every arm, train every seed, and keep the whole.

Trials are independent of each other, so each has a process of its own with one thread, and each
is written down when it is done: what was stopped goes on where it was. The predictions have to
be committed before the first trial, and the commit is stored with the results.
"""

import datetime
import platform
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from mhsa_book.experiments import units
from mhsa_book.experiments.design import Experiment
from mhsa_book.experiments.listing import find
from mhsa_book.experiments.trials import trial
from mhsa_book.experiments.units import Progress
from mhsa_book.profiling.processor import processor
from mhsa_book.results.curves import Curve
from mhsa_book.results.decimals import Number
from mhsa_book.results.runs import Arm, Runs

Key = tuple[str, Number, int]
"""Arm, learning rate, seed."""


def run(
    experiment: Experiment,
    commit: str,
    folder: Path,
    *,
    train: Callable[[Key], Curve] | None = None,
    n_processes: int = 2,
    progress: Progress = lambda trials, **_: trials,
) -> Runs:
    """Train what has not been trained yet, and put all of it together.

    Parameters
    ----------
    experiment : what to run
    commit : that holds its predictions
    folder : where trials are kept until the experiment is complete
    train : the curve of a key, in a process of its own; when not given, that of the experiment
        of this package with that name
    n_processes : trials at a time
    progress : wraps the trials of a round, called with ``total`` and ``desc`` as tqdm is
    """
    train = partial(_by_name, experiment.name) if train is None else train

    def trained(keys: list[Key], what: str) -> dict[Key, dict[str, Any]]:
        shown = partial(progress, desc=f"{experiment.name}, {what}")
        work = partial(_trained, train)
        return units.done(work, keys, folder, n_processes=n_processes, progress=shown)

    tuned = [arm for arm, setup in experiment.arms.items() if setup.anew == 0]
    tuning = trained([*product(tuned, experiment.rates, experiment.tuned_on)], "tuning")
    rates = {arm: _best(arm, tuning, experiment) for arm in experiment.arms}
    reported = trained([(a, rates[a], s) for a in rates for s in experiment.seeds], "seeds")
    seconds = sum(found["seconds"] for found in (tuning | reported).values())
    arms = {
        arm: Arm(
            dict(experiment.arms[arm].settings),
            rate,
            experiment.rates,
            experiment.tuned_on,
            {s: _curve(reported[arm, rate, s]) for s in experiment.seeds},
        )
        for arm, rate in rates.items()
    }
    return Runs(
        experiment.name,
        experiment.question,
        experiment.measure,
        experiment.level,
        experiment.tolerance,
        arms,
        experiment.floor,
        experiment.predictions,
        commit,
        datetime.date.today().isoformat(),
        machine() | {"seconds": round(seconds), "processes": n_processes},
    )


def machine() -> dict[str, Any]:
    """Where it runs: processor, threads of a trial, versions; no name and no path."""
    return {
        "cpu": processor(),
        "threads": 1,
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def predictions_commit(module: Path) -> str:
    """The commit that holds a module as it is now.

    Raises ``ValueError`` where there is none, or where the file was changed since: predictions
    are made before results.
    """
    changed = _git(module, "status", "--porcelain")
    found = "" if changed else _git(module, "log", "-1", "--format=%H")
    if not found:
        raise ValueError(
            f"{module.name} is not committed as it is; predictions come before results: commit "
            f"it, then run."
        )
    return found


def report(predictions: Sequence[str], verdicts: Sequence[bool]) -> None:
    """Print every prediction after its verdict.

    >>> report(["Few heads matter.", "All layers have one."], [True, False])
    true:  Few heads matter.
    FALSE: All layers have one.
    """
    for prediction, came_true in zip(predictions, verdicts, strict=True):
        print("true: " if came_true else "FALSE:", prediction)


def _git(module: Path, *arguments: str) -> str:
    command = ["git", *arguments, "--", module.name]
    return subprocess.run(
        command, cwd=module.parent, check=True, capture_output=True, text=True
    ).stdout.strip()


def _best(arm: str, tuning: Mapping[Key, Any], experiment: Experiment) -> Number:
    """The rate with the best mean of the tuning curves; a twin takes its arm's."""
    first, second = experiment.floor
    arm = first if arm == second else arm
    sign = 1 if experiment.measure.better == "higher" else -1

    def mean(rate: Number) -> float:
        return sign * fmean(
            value for s in experiment.tuned_on for value in tuning[arm, rate, s]["values"]
        )

    return max(experiment.rates, key=mean)


def _trained(train: Callable[[Key], Curve], key: Key) -> dict[str, Any]:
    return asdict(train(key))


def _by_name(name: str, key: Key) -> Curve:
    return trial(find(name), *key)


def _curve(found: Mapping[str, Any]) -> Curve:
    return Curve(tuple(found["steps"]), tuple(found["values"]))
