"""Results over seeds: every run a point, the mean a line, one standard deviation a bar."""

from textwrap import fill

from mhsa_lib.plots import style
from mhsa_lib.plots.charts import plain
from mhsa_lib.results.experiments import Results


def seeds(results: Results) -> None:
    """Draw every seed's number per model, with mean and standard deviation.

    >>> seeds(Results("demo", "Is b better?", "accuracy", (0, 1), {"a": 5, "b": 5},
    ...               {"a": (0.5, 0.7), "b": (0.8, 0.8)}, {}))
    """
    fig = style.figure(6.4, 0.6 * len(results.values) + 1.0)
    ax = fig.add_subplot()
    for row, (model, numbers) in enumerate(results.values.items()):
        colour = style.SERIES[row % len(style.SERIES)]
        mean, spread = results.mean(model), results.spread(model)
        ax.errorbar(mean, row, xerr=spread, fmt="|", color=style.INK, markersize=18, capsize=4)
        ax.plot(numbers, [row] * len(numbers), "osD^vP*X"[row % 8], color=colour, alpha=0.8)
        ax.annotate(
            f"{mean:.3f} ± {spread:.3f}",
            (mean, row),
            xytext=(0, 11),
            textcoords="offset points",
            ha="center",
            fontsize=style.TEXT,
            color=style.INK,
        )
    names = [style.label(model, longest=40) for model in results.values]
    ax.set_yticks(range(len(names)), names, fontsize=style.TEXT, parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.7)
    ax.margins(x=0.12)
    plain(ax, "", "")
    measure = fill(style.label(results.measure, longest=240), 80)
    said = f"{measure}\nevery point a seed, bars ± 1 standard deviation"
    # Under the whole figure, because long names leave the axis little room.
    fig.supxlabel(said, fontsize=style.TEXT, color=style.INK, parse_math=False)
