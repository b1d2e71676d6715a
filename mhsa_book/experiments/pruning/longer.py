"""Asked after the study, of its models: what does fine-tuning cost by itself?

Nothing was predicted. The whole model is fine-tuned as the cut ones were; and eight heads,
those that greedy removal leaves and those of the first order by chance, are fine-tuned for as
many steps as the training from scratch had.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from mhsa_book.experiments import units
from mhsa_book.experiments.pruning import work
from mhsa_book.experiments.pruning.plan import Plan
from mhsa_book.experiments.units import Progress
from mhsa_book.results.fine_tuning import Longer
from mhsa_book.results.pruning import CHANCE, GREEDY, Pruning

ALL = 24
"""Heads of the whole model; every way leaves the same."""


def asked(plan: Plan) -> tuple[tuple[str, int, int], ...]:
    """The way, the heads that it keeps, and the steps of fine-tuning.

    >>> asked(Plan())
    (('greedy', 24, 100), ('greedy', 8, 1600), ('random', 8, 1600))
    """
    few, long = plan.compared_at, plan.n_scratch_steps
    return (GREEDY, ALL, plan.n_tuning_steps), (GREEDY, few, long), (CHANCE, few, long)


def run(
    plan: Plan,
    found: Pruning,
    folder: Path,
    *,
    n_processes: int = 2,
    progress: Progress = lambda units, **_: units,
) -> tuple[Longer, ...]:
    """Fine-tune the models in ``folder`` once more; what is not there is made."""

    def do(what: str, keys: Sequence[units.Key]) -> work.Done:
        single, shown = partial(work.worked, plan, folder), partial(progress, desc=what)
        return units.done(single, keys, folder, n_processes=n_processes, progress=shown)

    do("models", [("model", seed) for seed in plan.seeds])
    do("orders", [("orders", seed) for seed in plan.seeds])
    rate = found.tuning["chosen"]["rate"]
    keys = {one: [("longer", seed, *one, rate) for seed in plan.seeds] for one in asked(plan)}
    done = do("longer", [key for some in keys.values() for key in some])
    return tuple(
        Longer(
            *one, {seed: done[key]["after"] for seed, key in zip(plan.seeds, some, strict=True)}
        )
        for one, some in keys.items()
    )
