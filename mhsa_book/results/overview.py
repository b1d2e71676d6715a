"""An experiment at a glance: a row for each arm."""

from statistics import fmean, median

from mhsa_book.results.curves import ending, steps_to
from mhsa_book.results.runs import Runs
from mhsa_book.results.sentences import number
from mhsa_book.results.tables import Table


def overview(runs: Runs) -> Table:
    """Settings of every arm, its learning rate, how many seeds arrived and when, and the end.

    "Arrived" counts the seeds that came to 95 % of the level and stayed; the median counts
    those that did not as later than all. "End" is the mean over the seeds of the last quarter
    of the curve, and how many of the curves have settled.

    >>> from mhsa_book.results.curves import Curve
    >>> from mhsa_book.results.paired import Measure
    >>> from mhsa_book.results.runs import Arm
    >>> curve = Curve(tuple(range(1, 21)), (0.0,) * 5 + (1.0,) * 15)
    >>> arm = Arm({"n_heads": 2}, 0.01, (0.01,), (100,), {s: curve for s in range(8)})
    >>> runs = Runs("demo", "Does it?", Measure("accuracy"), 1.0, 0.01, {"a": arm, "b": arm},
    ...             ("a", "b"), ("It does.",), "0" * 40, "2026-01-31")
    >>> overview(runs).rows[0]
    ('a', '2', '0.01', '8 of 8', '6', '1.000', '8 of 8')
    """
    settings = next(iter(runs.arms.values())).settings
    head = ("arm", *settings, "learning rate", "arrived", "median step", "end", "settled")
    caption = f"{runs.question} ({runs.measure.name}, {len(runs.seeds)} seeds)"
    return Table(caption, head, tuple(_row(name, runs) for name in runs.arms))


def _row(name: str, runs: Runs) -> tuple[str, ...]:
    arm, n = runs.arm(name), len(runs.seeds)
    steps = [steps_to(c, runs.level, better=runs.measure.better) for c in arm.curves.values()]
    arrived = [step for step in steps if step is not None]
    middle = median([step if step is not None else float("inf") for step in steps])
    end = fmean(ending(curve).mean for curve in arm.curves.values())
    settled = n - len(runs.unsettled(name))
    shown = (f"{v:,}" if isinstance(v, int) else str(v) for v in arm.settings.values())
    return (
        name, *shown, str(arm.learning_rate), f"{len(arrived)} of {n}", number(middle, 0),
        number(end, 3), f"{settled} of {n}",
    )  # fmt: skip
