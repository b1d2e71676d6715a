"""Curves and bars, labelled where they are."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mhsa_book.plots import style

MARKERS = "osD^vP*X"
DASHES = ("-", "--", "-.", ":")


def curves(
    x: Sequence[float | int],
    ys: Mapping[str, Sequence[float | int]],
    xlabel: str,
    ylabel: str,
    log: str = "",
) -> None:
    """Draw one curve per entry of ``ys`` over ``x``, each named at its end.

    ``log`` names the logarithmic axes: "", "x", "y" or "xy". Raises ``ValueError`` for another
    word, or for a curve whose length is not that of ``x``.

    >>> curves([1, 2, 3], {"line": [1, 2, 3], "square": [1, 4, 9]}, "n", "cost")
    """
    if log not in ("", "x", "y", "xy"):
        raise ValueError(f'log={log!r} names no axes; use "", "x", "y" or "xy".')
    if not ys:
        raise ValueError("there is no curve to draw; ys is empty.")
    for name, y in ys.items():
        if len(y) != len(x):
            raise ValueError(f"curve {name!r} has {len(y)} values for {len(x)} values of x.")
    ys = {name: [float(value) for value in y] for name, y in ys.items()}  # of any device
    fig = style.figure(6.8, 3.8)
    ax = fig.add_subplot()
    ax.set(xscale="log" if "x" in log else "linear", yscale="log" if "y" in log else "linear")
    for i, y in enumerate(ys.values()):
        look = {"marker": MARKERS[i % 8], "linestyle": DASHES[i % 4], "markersize": 5}
        ax.plot(x, y, color=style.SERIES[i % 8], **look)
    if "x" in log and len(x) <= 10:
        ax.set_xticks(x, [_short(value) for value in x])
        ax.set_xticks([], minor=True)
    plain(ax, xlabel, ylabel)
    name_ends(ax, x, ys)


def bars(values: Mapping[str, float | int], ylabel: str) -> None:
    """Draw one bar per entry, its value written at its end.

    >>> bars({"W_Q": 144, "W_O": 144}, "parameters")
    """
    if not values:
        raise ValueError("there is no bar to draw; values is empty.")
    fig = style.figure(6.4, 0.36 * len(values) + 0.9)
    ax = fig.add_subplot()
    names = [style.label(name, longest=40) for name in values]
    drawn = ax.barh(range(len(values)), list(values.values()), color=style.SERIES[0])
    ax.set_yticks(range(len(values)), names, fontsize=style.TEXT, parse_math=False)
    ax.invert_yaxis()
    ax.bar_label(
        drawn, [f" {_short(v)} " for v in values.values()], fontsize=style.TEXT, color=style.INK
    )
    ax.margins(x=0.15)
    ax.axvline(0, color=style.INK, linewidth=0.8)
    plain(ax, ylabel, "")


def _short(value: float | int) -> str:
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def plain(ax: Any, xlabel: str, ylabel: str) -> None:
    """Label the axes, and leave out what is not needed to read them."""
    ax.set_xlabel(xlabel, fontsize=style.TEXT)
    ax.set_ylabel(ylabel, fontsize=style.TEXT)
    ax.tick_params(labelsize=style.TEXT)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25)


def name_ends(
    ax: Any,
    x: Sequence[float | int],
    ys: Mapping[str, Sequence[float | int]],
    colours: Sequence[str] = style.SERIES,
) -> None:
    """Write each name right of its curve, moved apart where ends come close.

    The end of a curve is its last point that is a number.
    """
    last = [_end(x, y) for y in ys.values()]
    ax.figure.draw_without_rendering()
    ax.set_ylim(ax.get_ylim())
    low, high = ax.get_window_extent().intervaly
    ends = [float(ax.transData.transform(point)[1]) for point in last]
    places = _apart(ends, low, high, gap=18.0)
    back = ax.transData.inverted()
    for i, name in enumerate(ys):
        ax.annotate(
            style.label(name, longest=32),
            last[i],
            xytext=(1.04, back.transform((0, places[i]))[1]),
            textcoords=ax.get_yaxis_transform(),
            fontsize=style.TEXT,
            va="center",
            color=style.INK,
            parse_math=False,
            arrowprops={"arrowstyle": "-", "color": colours[i % len(colours)], "lw": 1},
        )


def _end(x: Sequence[float | int], y: Sequence[float | int]) -> tuple[float | int, float | int]:
    """The last point of a curve that is a number.

    >>> _end([1, 2, 4], [8.0, 5.0, float("nan")])
    (2, 5.0)
    """
    return [point for point in zip(x, y, strict=True) if not math.isnan(point[1])][-1]


def _apart(ends: Sequence[float], low: float, high: float, gap: float) -> list[float]:
    """The same heights in the same order, at least ``gap`` apart, below ``high``.

    >>> _apart([1.0, 1.5, 9.0], low=0.0, high=10.0, gap=2.0)
    [1.0, 3.0, 9.0]
    """
    order = sorted(range(len(ends)), key=lambda i: ends[i])
    places, floor = list(ends), low
    for i in order:
        places[i] = max(ends[i], floor)
        floor = places[i] + gap
    for i in reversed(order):
        places[i] = min(places[i], high)
        high = places[i] - gap
    return places
