"""Means with their intervals, one below the other, from the lowest to the highest."""

from collections.abc import Mapping

from mhsa_book.plots import style
from mhsa_book.plots.charts import MARKERS, plain
from mhsa_book.results.bootstrap import Interval

INCHES_OF_A_ROW = 0.27

LONGEST = 36
"""Letters of a name; a longer one is shortened."""


def ranked_intervals(groups: Mapping[str, Mapping[str, Interval]], xlabel: str) -> None:
    """Draw a row for every name of every group, sorted by the mean, around a line at zero.

    A group has its colour and its marker. Raises ``ValueError`` where there is nothing to draw,
    or where two groups have the same name.

    >>> from mhsa_book.results.bootstrap import Interval
    >>> ranked_intervals({"leaks": {"no mask": Interval(-3.0, -3.5, -2.0)}}, "change of loss")
    """
    every = [(value.mean, name) for rows in groups.values() for name, value in rows.items()]
    names = [name for _, name in sorted(every)]
    if not names:
        raise ValueError("there is no interval to draw; give at least one group with rows.")
    if len({*names}) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"{', '.join(twice)}: in more than one group; a name has one row.")
    fig = style.figure(style.WIDTH, INCHES_OF_A_ROW * len(names) + 1.2)
    ax = fig.subplots()
    ax.axvline(0, color=style.INK, linewidth=1)
    for i, (group, rows) in enumerate(groups.items()):
        ax.errorbar(
            [value.mean for value in rows.values()],
            [names.index(name) for name in rows],
            xerr=[
                [value.mean - value.low for value in rows.values()],
                [value.high - value.mean for value in rows.values()],
            ],
            fmt=MARKERS[i % len(MARKERS)],
            color=style.SERIES[i % len(style.SERIES)],
            markeredgecolor=style.INK,
            markeredgewidth=0.6,
            markersize=6.5,
            elinewidth=1.5,
            label=style.label(group, longest=60),
        )
    plain(ax, style.label(xlabel, longest=90), "")
    called = [style.label(name, longest=LONGEST) for name in names]
    ax.set_yticks(range(len(names)), called, parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.legend(frameon=False, fontsize=style.TEXT, loc="upper right")
