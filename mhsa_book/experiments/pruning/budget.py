"""What a run will take, known before it starts, and what was left out to take no more."""

from collections import Counter
from typing import Any

from mhsa_book.experiments.pruning.plan import Plan
from mhsa_book.experiments.pruning.running import cut_keys, first_keys, tuning_keys
from mhsa_book.results.tables import Table

LIMIT = 45
"""Minutes on two cores, for everything."""

SECONDS = {
    "model": 60.0,
    "gates": 16.4,
    "rate": 10.7,
    "scratch rate": 54.0,
    "orders": 20.2,
    "cut": 42.0,
    "scratch": 55.0,
    "time": 1.1,
}
"""Of processor, one unit of each part, measured with seed 100 beside much other work, which can
only make it slower; long trainings and cuts are counted up from parts of them."""

LEFT_OUT = (
    "From scratch only the shape that L0 left, and not that of any other way.",
    "Fine-tuning is 100 steps long, a twelfth of the training.",
    "All ways share one rate of fine-tuning, chosen on orders by chance; the rate from scratch "
    "is chosen on one seed, and that of the weights under gates on none.",
    "Importance and confidence rank once, and not anew after every head that goes.",
    "No way but L0 gets the steps that L0 trains with its gates; therefore L0's heads are also "
    "cut from the model before, as every other way's.",
    "Only the shape that L0 left is timed, with one batch of 64 sentences on one core.",
)


def n_units(plan: Plan) -> dict[str, int]:
    """How many units each part has, if every level takes a λ of its own.

    >>> n_units(Plan())["cut"]
    32
    """
    weights = [*map(float, range(len(plan.levels)))]
    tuned: dict[str, Any] = {"lambda": weights, "rate": 0.0, "scratch rate": 0.0}
    keys = [("model", seed) for seed in (*plan.tuned_on, *plan.seeds)]
    keys += [*tuning_keys(plan), *first_keys(plan, tuned), *cut_keys(plan, tuned)]
    keys += [("time", seed) for seed in plan.seeds]
    return dict(Counter(key[0] for key in keys))


def minutes(plan: Plan) -> float:
    """Minutes of processor in all; half of them on two cores.

    >>> minutes(Plan()) / 2 < LIMIT
    True
    """
    return sum(n * SECONDS[part] for part, n in n_units(plan).items()) / 60


def expected(plan: Plan) -> str:
    """Units, seconds and minutes of every part, the total, and what was left out."""
    rows = [
        (part, str(n), f"{SECONDS[part]:.1f}", f"{n * SECONDS[part] / 60:.1f}")
        for part, n in n_units(plan).items()
    ]
    total = f"{minutes(plan):.1f}"
    head = "part", "units", "seconds of one", "minutes of processor"
    sheet = Table("What a run takes, counted before it.", head, (*rows, ("all", "", "", total)))
    cut = "\n".join(f"- {text}" for text in LEFT_OUT)
    half = f"{minutes(plan) / 2:.0f} minutes on two cores, of {LIMIT} that it may take."
    return f"{sheet}\n{half}\n\nLeft out:\n{cut}"
