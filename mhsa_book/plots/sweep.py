"""One number over a size that was swept: every seed a point, panel by panel."""

from collections.abc import Mapping, Sequence
from math import ceil
from statistics import mean
from textwrap import fill
from typing import Any

from mhsa_book.plots import style
from mhsa_book.plots.charts import MARKERS, plain

Swept = Mapping[int, Sequence[float]]
"""From a size to the number of every seed."""

ROW = 4
"""Panels side by side."""


def sweep(panels: Mapping[str, Mapping[str, Swept]], xlabel: str, ylabel: str) -> None:
    """Draw a panel for each name, in it a line for each series: means, and every seed.

    Sizes stand at equal distances, and all panels share both axes; the points of several
    series stand side by side. Raises ``ValueError`` where there is nothing to draw.

    >>> sweep({"easy": {"wide": {1: (0.5, 0.7), 2: (1.0, 0.9)}}}, "n_heads", "accuracy")
    """
    names = [*dict.fromkeys(name for panel in panels.values() for name in panel)]
    every = [swept for panel in panels.values() for swept in panel.values()]
    sizes = sorted({size for swept in every for size in swept})
    if not sizes or not all(values for swept in every for values in swept.values()):
        raise ValueError("there is no number to draw; give every size of a series its seeds.")
    rows = ceil(len(panels) / ROW)
    fig = style.figure(7.4, 2.1 * rows + 0.9)
    axes = fig.subplots(rows, min(len(panels), ROW), sharex=True, sharey=True, squeeze=False)
    for ax in axes.flatten()[len(panels) :]:
        ax.set_visible(False)
    lines: dict[str, Any] = {}
    for ax, (title, panel) in zip(axes.flatten(), panels.items(), strict=False):
        for name, swept in panel.items():
            i = names.index(name)
            aside = 0.2 * (i - (len(names) - 1) / 2)
            lines[name] = _series(ax, swept, [sizes.index(n) + aside for n in swept], i)
        plain(ax, "", "")
        said = fill(style.label(title, longest=36), 18)
        ax.set_title(said, fontsize=style.TEXT, parse_math=False)
    axes[0, 0].set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
    below = f"{style.label(xlabel, longest=60)}; every point a seed, lines their means"
    fig.supxlabel(below, fontsize=style.TEXT, color=style.INK, parse_math=False)
    beside = fill(style.label(ylabel, longest=60), 24)
    fig.supylabel(beside, fontsize=style.TEXT, color=style.INK, parse_math=False)
    if len(names) > 1:
        called = [style.label(name, longest=32) for name in names]
        look = {"loc": "outside upper center", "frameon": False, "fontsize": style.TEXT}
        legend = fig.legend([lines[name] for name in names], called, ncols=2, **look)
        for text in legend.get_texts():
            text.set_parse_math(False)


def _series(ax: Any, swept: Swept, places: Sequence[float], i: int) -> Any:
    """Points of all seeds, and the line of their means."""
    look = {"color": style.SERIES[i % 8], "marker": MARKERS[i % 8]}
    for x, values in zip(places, swept.values(), strict=True):
        ax.plot([x] * len(values), values, markersize=4, alpha=0.6, linestyle="none", **look)
    middles = [mean(values) for values in swept.values()]
    (line,) = ax.plot(places, middles, markersize=7, markerfacecolor="none", **look)
    return line
