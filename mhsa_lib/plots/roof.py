"""The roofline: what a machine can reach at every intensity, and where real work lies."""

import math
from collections.abc import Mapping

from mhsa_lib.costs import roofline as limits
from mhsa_lib.plots import style
from mhsa_lib.plots.charts import DASHES, MARKERS, name_ends, plain


def roofline(
    roofs: Mapping[str, limits.Rates], points: Mapping[str, tuple[float, float]] | None = None
) -> None:
    """Draw the roof of each machine, and points (FLOPs per byte, FLOPs per second) under them.

    A roof rises with the bandwidth up to the ridge and is level at the peak; its name and its
    ridge stand at its end. Raises ``ValueError`` when there is no roof, or for a number that a
    logarithmic axis cannot show.

    >>> roofline({"this machine": limits.Rates(100e9, 25e9)}, {"W_O": (0.5, 10e9)})
    """
    points = points or {}
    if not roofs:
        raise ValueError("there is no roof to draw; roofs is empty.")
    for name, pair in (*roofs.items(), *points.items()):
        if not all(math.isfinite(number) and number > 0 for number in pair):
            raise ValueError(f"{name!r} is {tuple(pair)}; both numbers have to be above 0.")
    ridges = [limits.ridge(*rates) for rates in roofs.values()]
    intensities = [*ridges, *(intensity for intensity, _ in points.values())]
    low, high = min(intensities) / 3, max(intensities) * 3
    fig = style.figure(7.6, 3.8 + 0.24 * math.ceil(len(points) / 2))
    ax = fig.add_subplot()
    lowest = [limits.attainable(low, *rates) for rates in roofs.values()]
    rates_drawn = [*lowest, *(rate for _, rate in points.values())]
    tops = [rates.peak for rates in roofs.values()]
    decades = 10 ** math.floor(math.log10(min(rates_drawn))), 1.6 * max(tops + rates_drawn)
    ax.set(xscale="log", yscale="log", xlim=(low, high), ylim=decades)
    for i, rates in enumerate(roofs.values()):
        bend = (low, ridges[i], high)
        heights = [limits.attainable(intensity, *rates) for intensity in bend]
        ax.plot(bend, heights, color=style.INK, linestyle=DASHES[i % 4], linewidth=1.4)
    for i, (name, (intensity, rate)) in enumerate(points.items()):
        # The later the smaller: a point that lies on another one hides less of it.
        size = 12 - 6 * i / max(1, len(points) - 1)
        look = {"marker": MARKERS[i % 8], "color": style.SERIES[i % 8], "markersize": size}
        named = style.label(name, longest=40)
        ax.plot(intensity, rate, linestyle="", markeredgecolor=style.INK, label=named, **look)
    ends = zip(roofs.items(), ridges, strict=True)
    names = {f"{style.label(n, longest=18)}, ridge {r:.3g}": [top.peak] for (n, top), r in ends}
    plain(ax, "arithmetic intensity, FLOPs per byte", "FLOPs per second")
    name_ends(ax, [high], names, [style.INK])
    if points:
        legend = fig.legend(
            loc="outside lower center", ncols=2, fontsize=style.TEXT, frameon=False
        )
        for text in legend.get_texts():
            text.set_parse_math(False)
