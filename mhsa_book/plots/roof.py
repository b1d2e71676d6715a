"""The roofline: what a machine can reach at every intensity, and where real work lies."""

import math
from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mhsa_book.costs import roofline as limits
from mhsa_book.plots import style
from mhsa_book.plots.charts import DASHES, MARKERS, name_ends, plain

Point = tuple[float, float]
"""FLOPs per byte, FLOPs per second."""


def roofline(
    roofs: Mapping[str, limits.Rates], points: Mapping[str, Mapping[str, Point]] | None = None
) -> None:
    """Draw the roof of each machine, and what was measured under it, in colours and shapes.

    A roof rises with the bandwidth up to the ridge and is level at the peak; its name and its
    ridge stand at its end. ``points`` are (FLOPs per byte, FLOPs per second), by
    group and name: a group has one colour, a name one shape in all groups. Raises
    ``ValueError`` when there is no roof, or for a number that a logarithmic axis cannot show.

    >>> roofline({"this machine": limits.Rates(100e9, 25e9)}, {"decode": {"W_O": (0.5, 10e9)}})
    """
    points = points or {}
    if not roofs:
        raise ValueError("there is no roof to draw; roofs is empty.")
    every = [point for group in points.values() for point in group.items()]
    for name, pair in (*roofs.items(), *every):
        if not all(math.isfinite(number) and number > 0 for number in pair):
            raise ValueError(f"{name!r} is {tuple(pair)}; both numbers have to be above 0.")
    ridges = [limits.ridge(*rates) for rates in roofs.values()]
    intensities = [*ridges, *(intensity for _, (intensity, _) in every)]
    low, high = min(intensities) / 3, max(intensities) * 3
    shapes = [*dict(every)]
    fig = style.figure(7.6, 3.8 + 0.24 * max(len(points), len(shapes)))
    ax = fig.add_subplot()
    lowest = [limits.attainable(low, *rates) for rates in roofs.values()]
    rates_drawn = [*lowest, *(rate for _, (_, rate) in every)]
    tops = [rates.peak for rates in roofs.values()]
    decades = 10 ** math.floor(math.log10(min(rates_drawn))), 1.6 * max(tops + rates_drawn)
    ax.set(xscale="log", yscale="log", xlim=(low, high), ylim=decades)
    for i, rates in enumerate(roofs.values()):
        bend = (low, ridges[i], high)
        heights = [limits.attainable(intensity, *rates) for intensity in bend]
        ax.plot(bend, heights, color=style.INK, linestyle=DASHES[i % 4], linewidth=1.4)
    for i, group in enumerate(points.values()):
        # The later the smaller: a point that lies on another one hides less of it.
        look = {"markeredgecolor": style.INK, "markersize": 12 - 6 * i / len(points)}
        for name, point in group.items():
            marker = MARKERS[shapes.index(name) % 8]
            ax.plot(*point, marker, color=style.SERIES[i % 8], **look)
    ends = zip(roofs.items(), ridges, strict=True)
    names = {f"{style.label(n, longest=18)}, ridge {r:.3g}": [top.peak] for (n, top), r in ends}
    plain(ax, "arithmetic intensity, FLOPs per byte", "FLOPs per second")
    name_ends(ax, [high], names, [style.INK])
    if points:
        _legend(fig, [*points], shapes)


def _legend(fig: Figure, groups: list[str], shapes: list[str]) -> None:
    """On the left what a colour means, on the right what a shape means."""
    rows = max(len(groups), len(shapes))
    empty = Line2D([], [], linestyle="", label=" ")
    colours = [
        Line2D(
            [], [], color=style.SERIES[i % 8], linewidth=6, label=style.label(name, longest=40)
        )
        for i, name in enumerate(groups)
    ]
    marks = [
        Line2D(
            [],
            [],
            linestyle="",
            marker=MARKERS[i % 8],
            markersize=9,
            markerfacecolor="none",
            markeredgecolor=style.INK,
            label=style.label(name, longest=40),
        )
        for i, name in enumerate(shapes)
    ]
    padded = [
        *colours,
        *[empty] * (rows - len(colours)),
        *marks,
        *[empty] * (rows - len(marks)),
    ]
    legend = fig.legend(
        handles=padded,
        loc="outside lower center",
        ncols=2,
        fontsize=style.TEXT,
        frameon=False,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
