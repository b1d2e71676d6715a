"""What is lost as more and more is cut, in several orders, beside orders that are drawn."""

from collections.abc import Mapping, Sequence
from typing import Any

from mhsa_book.plots import style
from mhsa_book.plots.charts import DASHES, MARKERS, plain
from mhsa_book.results.bootstrap import Interval

Lines = Mapping[str, Sequence[Interval]]

_ALSO: dict[str, Any] = {"color": style.FAINT, "linewidth": 1.1, "linestyle": (0, (5, 3))}


def cuts(
    sizes: Sequence[int],
    panels: Mapping[str, Lines],
    drawn: Mapping[str, Sequence[Sequence[float]]],
    xlabel: str,
    *,
    also_drawn: Mapping[str, Sequence[Sequence[float]]] | None = None,
    guessing: Mapping[str, float] | None = None,
) -> None:
    """Draw a panel for each measure, in it a line with its intervals for each order.

    A panel's name is that of its vertical axis. ``drawn`` holds for each panel the numbers of
    every order that was drawn: they are grey, and what lies between them is shaded.
    ``also_drawn`` holds orders that were drawn in another way, which are dashed and not in the
    shade, and ``guessing`` a height for some panels, drawn as a dotted line across. Raises
    ``ValueError`` where there is nothing to draw or a line has not one number for each size.

    >>> up = [Interval(0.0, 0.0, 0.0), Interval(1.0, 0.8, 1.2)]
    >>> cuts([0, 9], {"loss": {"chosen": up}}, {"loss": [[0.0, 2.0], [0.0, 3.0]]}, "heads cut")
    """
    lines: list[Any] = [line for panel in panels.values() for line in panel.values()]
    also, heights = also_drawn or {}, guessing or {}
    lines += [line for each in (*drawn.values(), *also.values()) for line in each]
    known = {*panels} == {*drawn} >= {*also, *heights}
    if not panels or {len(line) for line in lines} != {len(sizes)} or not known:
        raise ValueError(
            f"there are {len(sizes)} sizes, and lines of {sorted({*map(len, lines)})} numbers "
            f"in the panels {[*panels]}, {[*drawn]} and {[*also, *heights]}; give every panel "
            f"its lines, drawn ones too, with a number for each size."
        )
    fig = style.figure(style.WIDTH, 4.2)
    axes = fig.subplots(1, len(panels), squeeze=False)[0]
    names = [*dict.fromkeys(name for panel in panels.values() for name in panel)]
    for ax, (title, panel) in zip(axes, panels.items(), strict=True):
        every = [*zip(*drawn[title], strict=True)]
        low, high = ([pick(each) for each in every] for pick in (min, max))
        ax.fill_between(sizes, low, high, color=style.FAINT, alpha=0.25, linewidth=0)
        for values in drawn[title]:
            ax.plot(sizes, values, color=style.FAINT, linewidth=0.9)
        for values in also.get(title, ()):
            ax.plot(sizes, values, **_ALSO)
        if title in heights:
            ax.axhline(heights[title], color=style.INK, linewidth=0.9, linestyle=":")
        for name, intervals in panel.items():
            i = names.index(name)
            ax.errorbar(
                sizes,
                [each.mean for each in intervals],
                yerr=[
                    [each.mean - each.low for each in intervals],
                    [each.high - each.mean for each in intervals],
                ],
                color=style.SERIES[i % 8],
                marker=MARKERS[i % 8],
                linestyle=DASHES[i % 4],
                markersize=5,
                markeredgecolor=style.INK,
                markeredgewidth=0.5,
                elinewidth=1.0,
                capsize=2,
                label=style.label(name, longest=32),
            )
        ax.plot([], [], color=style.FAINT, linewidth=5, alpha=0.5, label="drawn orders")
        if also:
            ax.plot([], [], label="drawn whole groups", **_ALSO)
        if heights:
            ax.plot([], [], color=style.INK, linewidth=0.9, linestyle=":", label="guessing")
        ax.set_xticks(_far_apart(sizes))
        plain(ax, "", style.label(title, longest=60))
    fig.supxlabel(style.label(xlabel, longest=60), fontsize=style.TEXT, color=style.INK)
    handles, labels = axes[0].get_legend_handles_labels()
    look: dict[str, Any] = {"ncols": 3, "fontsize": style.TEXT, "frameon": False}
    fig.legend(handles, labels, loc="outside upper center", **look)


def _far_apart(sizes: Sequence[int]) -> list[int]:
    """Sizes whose labels do not touch: at least a tenth of the largest apart.

    >>> _far_apart([0, 9, 18, 27, 135])
    [0, 18, 135]
    """
    shown: list[int] = []
    for size in sizes:
        if not shown or size - shown[-1] >= max(sizes) / 10:
            shown.append(size)
    return shown
