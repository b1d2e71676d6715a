"""Numbers over seeds: every one a point, the mean a line, one standard deviation a bar."""

from collections.abc import Mapping, Sequence
from statistics import mean, stdev
from textwrap import fill

from mhsa_book.plots import style
from mhsa_book.plots.charts import plain


def seeds(values: Mapping[str, Sequence[float]], measure: str) -> None:
    """Draw the number of every seed by name, with mean and standard deviation.

    One seed has no spread, so it needs two of each name; ``ValueError`` says where there are
    fewer.

    >>> seeds({"a": (0.5, 0.7), "b": (0.8, 0.8)}, "accuracy")
    """
    if few := [name for name, numbers in values.items() if len(numbers) < 2]:
        raise ValueError(f"{few} have one seed or none, and no spread; give two numbers each.")
    fig = style.figure(6.4, 0.6 * len(values) + 1.0)
    ax = fig.add_subplot()
    for row, numbers in enumerate(values.values()):
        colour = style.SERIES[row % len(style.SERIES)]
        middle, spread = mean(numbers), stdev(numbers)
        ax.errorbar(
            middle, row, xerr=spread, fmt="|", color=style.INK, markersize=18, capsize=4
        )
        ax.plot(numbers, [row] * len(numbers), "osD^vP*X"[row % 8], color=colour, alpha=0.8)
        ax.annotate(
            f"{middle:.3f} ± {spread:.3f}",
            (middle, row),
            xytext=(0, 11),
            textcoords="offset points",
            ha="center",
            fontsize=style.TEXT,
            color=style.INK,
        )
    names = [style.label(name, longest=40) for name in values]
    ax.set_yticks(range(len(names)), names, fontsize=style.TEXT, parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.7)
    ax.margins(x=0.12)
    plain(ax, "", "")
    what = fill(style.label(measure, longest=240), 80)
    said = f"{what}\nevery point a seed, bars ± 1 standard deviation"
    # Under the whole figure, because long names leave the axis little room.
    fig.supxlabel(said, fontsize=style.TEXT, color=style.INK, parse_math=False)
