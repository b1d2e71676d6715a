"""What a model loses as its heads go: a line for each way to choose them, a point per seed."""

from collections.abc import Sequence
from typing import Any

from mhsa_book.plots import style
from mhsa_book.plots.charts import DASHES, MARKERS, plain
from mhsa_book.results.pruning import CUTS, SCRATCH, WHEN, Pruning

TITLES = {"before": "as cut", "after": "fine-tuned"}

COLOURS = (*style.SERIES[:6], style.INK)
"""One for each way; a line of yellow would be too faint on white."""

APART = 0.5
"""Heads between the points of one way and the next, so that none hides another."""


def kept_heads(found: Pruning, ways: Sequence[str] = (*CUTS, SCRATCH)) -> None:
    """Draw the loss against the heads that are kept, before fine-tuning and after.

    A point is a seed (of ``random`` the mean of its draws), a line goes through the means, a
    bar is the 95 % interval of a mean; what would reach below zero ends at the axis, which is
    logarithmic. The grey line is the whole model. Raises ``ValueError`` for an unknown way.
    """
    if unknown := [way for way in ways if way not in (*CUTS, SCRATCH)]:
        raise ValueError(f"{unknown} are no ways to choose; there are {[*CUTS, SCRATCH]}.")
    fig = style.figure(style.WIDTH, 4.4)
    axes = fig.subplots(1, 2, sharex=True, sharey=True)
    for ax, when in zip(axes, WHEN, strict=True):
        whole = found.whole().values()
        ax.axhline(sum(whole) / len(whole), color=style.FAINT, linewidth=1.2)
        for place, way in enumerate(ways):
            _way(ax, found, way, when, place, len(ways))
        ax.set_yscale("log")
        ax.set_xticks(found.levels)
        plain(ax, "", "")
        ax.set_title(TITLES[when], fontsize=style.TEXT)
    axes[0].invert_xaxis()  # and the other, which shares it
    fig.supxlabel("heads kept; every point a seed", fontsize=style.TEXT, color=style.INK)
    fig.supylabel("loss, nats a word", fontsize=style.TEXT, color=style.INK)
    handles, labels = axes[1].get_legend_handles_labels()
    look: dict[str, Any] = {"ncols": 3, "fontsize": style.TEXT, "frameon": False}
    fig.legend(handles, labels, loc="outside upper center", **look)


def _way(ax: Any, found: Pruning, way: str, when: str, place: int, n_ways: int) -> None:
    if way == SCRATCH and when == "before":
        return
    x = [level - APART * (place - (n_ways - 1) / 2) for level in found.levels]
    colour, marker = COLOURS[place], MARKERS[place]
    for level, at in zip(found.levels, x, strict=True):
        seeds = found.loss(way, level, when).values()
        ax.plot([at] * len(seeds), list(seeds), marker, color=colour, markersize=3, alpha=0.5)
    middles = [found.interval(way, level, when) for level in found.levels]
    means = [mean for mean, _, _ in middles]
    reach = [
        [mean - low for mean, low, _ in middles],
        [high - mean for mean, _, high in middles],
    ]
    ax.errorbar(
        x,
        means,
        yerr=reach,
        color=colour,
        marker=marker,
        markersize=6,
        markeredgecolor=style.INK,
        markeredgewidth=0.6,
        linestyle=DASHES[place % 4],
        linewidth=1.2,
        capsize=2,
        label=way,
    )
