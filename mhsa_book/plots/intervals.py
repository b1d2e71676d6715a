"""Means with the intervals around them, in rows: what was compared, at one glance."""

from collections.abc import Mapping
from textwrap import fill

from mhsa_book.plots import style
from mhsa_book.plots.charts import MARKERS, plain
from mhsa_book.results.bootstrap import Interval

Rows = Mapping[str, Interval]

APART = 0.15
"""Of a row, between one series and the next, so that none hides another."""


def intervals(panels: Mapping[str, Mapping[str, Rows]], xlabel: str) -> None:
    """Draw a panel for each name, in it for each series a mean with its interval in every row.

    Panels share both axes, and a series has its colour and its marker in all of them. Raises
    ``ValueError`` where there is nothing to draw.

    >>> intervals({"mean": {"all on": {"store": Interval(0.9, 0.8, 1.0)}}}, "share")
    """
    series = [*dict.fromkeys(name for panel in panels.values() for name in panel)]
    every = [rows for panel in panels.values() for rows in panel.values()]
    names = [*dict.fromkeys(row for rows in every for row in rows)]
    if not names:
        raise ValueError("there is no interval to draw; give every panel series with rows.")
    height = max(0.5, 0.17 * len(series)) * len(names) + 1.3
    fig = style.figure(style.WIDTH, height)
    axes = fig.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    drawn = {}
    for ax, (title, panel) in zip(axes, panels.items(), strict=True):
        for name, rows in panel.items():
            i = series.index(name)
            beside = APART * (i - (len(series) - 1) / 2)
            drawn[name] = ax.errorbar(
                [value.mean for value in rows.values()],
                [names.index(row) + beside for row in rows],
                xerr=[
                    [value.mean - value.low for value in rows.values()],
                    [value.high - value.mean for value in rows.values()],
                ],
                fmt=MARKERS[i % 8],
                color=style.SERIES[i % 8],
                markeredgecolor=style.INK,
                markeredgewidth=0.6,
                markersize=5.5,
                elinewidth=1.5,
            )
        plain(ax, "", "")
        said = fill(style.label(title, longest=40), 22)
        ax.set_title(said, fontsize=style.TEXT, parse_math=False)
    called = [style.label(name, longest=24) for name in names]
    axes[0].set_yticks(range(len(names)), called, parse_math=False)
    axes[0].set_ylim(len(names) - 0.4, -0.6)
    below = style.label(xlabel, longest=90)
    fig.supxlabel(below, fontsize=style.TEXT, color=style.INK, parse_math=False)
    called = [style.label(name, longest=30) for name in series]
    look = {"loc": "outside upper center", "frameon": False, "fontsize": style.TEXT}
    legend = fig.legend([drawn[name] for name in series], called, ncols=2, **look)
    for text in legend.get_texts():
        text.set_parse_math(False)
