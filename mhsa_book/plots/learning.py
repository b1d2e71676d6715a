"""Training curves of an experiment: every seed of every arm, and when it arrived."""

from math import ceil
from textwrap import fill

from mhsa_book.plots import style
from mhsa_book.plots.charts import plain
from mhsa_book.results.curves import steps_to
from mhsa_book.results.runs import Runs

ROW = 3
"""Panels side by side."""


def learning(runs: Runs) -> None:
    """Draw a panel for each arm: a line per seed, a triangle where it comes to 95 %, to stay.

    Curves that never come there are dashed. The panels share both axes.

    >>> from mhsa_book.results.curves import Curve
    >>> from mhsa_book.results.paired import Measure
    >>> from mhsa_book.results.runs import Arm
    >>> curve = Curve((10, 20, 30), (0.2, 0.9, 1.0))
    >>> arm = Arm({}, 0.01, (0.01,), (100,), {seed: curve for seed in range(8)})
    >>> learning(Runs("demo", "Does it?", Measure("accuracy"), 1.0, 0.01, {"a": arm, "b": arm},
    ...               ("a", "b"), ("It does.",), "0" * 40, "2026-01-31"))
    """
    rows = ceil(len(runs.arms) / ROW)
    fig = style.figure(7.2, 2.1 * rows + 0.5)
    axes = fig.subplots(rows, ROW, sharex=True, sharey=True, squeeze=False).flatten()
    for ax in axes[len(runs.arms) :]:
        ax.set_visible(False)
    for place, (ax, (name, arm)) in enumerate(zip(axes, runs.arms.items(), strict=False)):
        arrived = []
        for curve in arm.curves.values():
            step = steps_to(curve, runs.level, better=runs.measure.better)
            line = "-" if step is not None else "--"
            ax.plot(
                curve.steps, curve.values, line, color=style.SERIES[0], linewidth=0.9, alpha=0.8
            )
            arrived += [step] * (step is not None)
        on_axis = [0.03] * len(arrived)
        ax.plot(arrived, on_axis, "^", color=style.INK, transform=ax.get_xaxis_transform())
        plain(ax, "", "")
        title = fill(style.label(name, longest=44), 24)
        ax.set_title(title, fontsize=style.TEXT, parse_math=False)
        below = place + ROW >= len(runs.arms)
        ax.tick_params(labelbottom=below)
    said = "step; ▲ a seed, from here on at 95 % of what can be learned"
    fig.supxlabel(said, fontsize=style.TEXT, color=style.INK, parse_math=False)
    measure = style.label(runs.measure.name, longest=60)
    fig.supylabel(measure, fontsize=style.TEXT, color=style.INK, parse_math=False)
