"""Run the plan: first the models, then what is chosen on other seeds, then every cut.

Each round needs those before it. Units of a round are independent of each other and are kept
one by one (``experiments.units``); times come last, one at a time.
"""

import datetime
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from mhsa_book.experiments import running, units
from mhsa_book.experiments.pruning import work
from mhsa_book.experiments.pruning.plan import Plan
from mhsa_book.experiments.pruning.predictions import PREDICTIONS
from mhsa_book.experiments.translation import heads_of, learning
from mhsa_book.experiments.translation.worth import ASKED
from mhsa_book.experiments.units import Progress
from mhsa_book.results.decimals import Number
from mhsa_book.results.pruning import CHANCE, Model, Pruning

Key = tuple[Any, ...]
Done = dict[Key, dict[str, Any]]
Do = Callable[..., Done]


def run(
    plan: Plan,
    commit: str,
    folder: Path,
    *,
    n_processes: int = 2,
    progress: Progress = lambda units, **_: units,
) -> Pruning:
    """Do every unit that is not yet in ``folder``, and put all of them together."""

    def do(what: str, keys: Sequence[Key], n_processes: int = n_processes) -> Done:
        shown = partial(progress, desc=what)
        single = partial(work.worked, plan, folder)
        once = [*dict.fromkeys(keys)]
        return units.done(single, once, folder, n_processes=n_processes, progress=shown)

    done = do("models", [("model", seed) for seed in (*plan.tuned_on, *plan.seeds)])
    tried = do("tuning", tuning_keys(plan))
    tuned = chosen(plan, tried)
    done |= do("heads", first_keys(plan, tuned)) | do("cuts", cut_keys(plan, tuned))
    done |= do("times", [("time", seed, *tuned["lambda"]) for seed in plan.seeds], 1)
    names = tuple(map(repr, heads_of(learning.untrained(seed=0))))
    return Pruning(
        predictions=PREDICTIONS,
        predictions_commit=commit,
        date=datetime.date.today().isoformat(),
        settings={name: _listed(value) for name, value in asdict(plan).items()},
        tuning={"tried": _tried(tried), "chosen": tuned},
        machine=running.machine() | {"processes": n_processes} | _seconds(done | tried),
        heads=names,
        tasks=ASKED,
        models={seed: _model(plan, done, tuned, seed) for seed in plan.seeds},
    )


def tuning_keys(plan: Plan) -> list[Key]:
    """What is tried on seeds that are not reported; from scratch on the first of them alone."""
    scratch = [("scratch rate", plan.tuned_on[0], rate) for rate in plan.scratch_rates]
    gates = [("gates", seed, weight) for seed in plan.tuned_on for weight in plan.lambdas]
    return [*scratch, *gates, *(("rate", s, r) for s in plan.tuned_on for r in plan.rates)]


def chosen(plan: Plan, tried: Done) -> dict[str, Any]:
    """For every level the λ that leaves open nearest to so many gates, and both rates."""
    opened = {
        weight: fmean(len(tried["gates", seed, weight]["open"]) for seed in plan.tuned_on)
        for weight in plan.lambdas
    }

    def nearest(level: int) -> Number:
        return min(opened, key=lambda weight: abs(opened[weight] - level))

    def loss(part: str, seeds: Sequence[int], rate: Number) -> float:
        return fmean(x for seed in seeds for x in tried[part, seed, rate]["losses"])

    return {
        "lambda": [nearest(level) for level in plan.levels],
        "rate": min(plan.rates, key=partial(loss, "rate", plan.tuned_on)),
        "scratch rate": min(
            plan.scratch_rates, key=partial(loss, "scratch rate", plan.tuned_on[:1])
        ),
    }


def first_keys(plan: Plan, tuned: dict[str, Any]) -> list[Key]:
    """Orders and gates of the reported models."""
    gates = [("gates", seed, weight) for seed in plan.seeds for weight in tuned["lambda"]]
    return [*(("orders", seed) for seed in plan.seeds), *gates]


def cut_keys(plan: Plan, tuned: dict[str, Any]) -> list[Key]:
    """All cuts of the reported models, and the shapes that are trained from scratch."""
    weights = dict(zip(plan.levels, tuned["lambda"], strict=True))
    scratch: list[Key] = [
        ("scratch", seed, level, weight, tuned["scratch rate"])
        for seed in plan.seeds
        for level, weight in weights.items()
    ]
    cuts = [
        ("cut", seed, level, weight, tuned["rate"])
        for seed in plan.seeds
        for level, weight in weights.items()
    ]
    return [*scratch, *cuts]


def _model(plan: Plan, done: Done, tuned: dict[str, Any], seed: int) -> Model:
    gates = {
        str(level): done["gates", seed, weight]
        for level, weight in zip(plan.levels, tuned["lambda"], strict=True)
    }
    keys = cut_keys(plan, tuned)
    cuts = {str(key[2]): done[key] for key in keys if key[:2] == ("cut", seed)}
    scratch = {str(key[2]): done[key] for key in keys if key[:2] == ("scratch", seed)}
    ranked = done["orders", seed]
    times = done[("time", seed, *tuned["lambda"])]
    return Model(
        whole=done["model", seed]["whole"],
        roles=ranked["roles"],
        orders=ranked["orders"],
        drawn=ranked[CHANCE],
        log_alpha={level: found["log_alpha"] for level, found in gates.items()},
        gated={level: found["losses"] for level, found in gates.items()},
        cuts={level: found["arms"] for level, found in cuts.items()},
        drawn_cuts={level: found[CHANCE] for level, found in cuts.items()},
        scratch={level: found["after"] for level, found in scratch.items()},
        times={name: share for name, share in times.items() if name != "seconds"},
    )


def _tried(tried: Done) -> dict[str, Any]:
    """Open gates and losses of every key that was tried, by its words."""
    return {
        " ".join(map(str, key)): len(found["open"]) if "open" in found else found["losses"]
        for key, found in tried.items()
    }


def _seconds(done: Done) -> dict[str, Any]:
    parts: dict[str, float] = {}
    for key, found in done.items():
        parts[key[0]] = parts.get(key[0], 0.0) + found["seconds"]
    return {"seconds": round(sum(parts.values())), "seconds of a part": _whole(parts)}


def _whole(parts: dict[str, float]) -> dict[str, int]:
    return {part: round(seconds) for part, seconds in parts.items()}


def _listed(value: Any) -> Any:
    return [*value] if isinstance(value, tuple) else value
