"""Times of several kernels, need by need, on one logarithmic axis."""

from collections.abc import Mapping

from mhsa_book.plots import style
from mhsa_book.plots.charts import MARKERS, plain


def kernel_times(needs: Mapping[str, Mapping[str, float]], xlabel: str) -> None:
    """Draw a row for each need, in it a mark for each way that meets it, at its time.

    A way has one colour and one shape in all rows. Raises ``ValueError`` when there is nothing
    to draw, or for a time that a logarithmic axis cannot show.

    >>> kernel_times({"causal": {"a tensor": 0.9, "a flag": 0.3}}, "ms")
    """
    if not needs or not all(needs.values()):
        raise ValueError(f"every need wants a time; these have {dict(needs)}.")
    for need, times in needs.items():
        if not all(time > 0 for time in times.values()):
            raise ValueError(f"{need!r} has {dict(times)}; every time has to be above 0.")
    ways = [*dict.fromkeys(way for times in needs.values() for way in times)]
    fig = style.figure(style.WIDTH, 0.42 * len(needs) + 1.4)
    ax = fig.add_subplot()
    ax.set_xscale("log")
    for row, times in enumerate(needs.values()):
        ax.plot([min(times.values()), max(times.values())], [row, row], color=style.FAINT, lw=1)
    for i, way in enumerate(ways):
        places = [(times[way], row) for row, times in enumerate(needs.values()) if way in times]
        ax.plot(
            *zip(*places, strict=True),
            MARKERS[i % 8],
            color=style.SERIES[i % 8],
            markeredgecolor=style.INK,
            markersize=9,
            label=style.label(way, longest=40),
        )
    ax.set_yticks(range(len(needs)), [style.label(need, longest=40) for need in needs])
    ax.invert_yaxis()
    plain(ax, xlabel, "")
    fig.legend(loc="outside lower center", ncols=3, fontsize=style.TEXT, frameon=False)
