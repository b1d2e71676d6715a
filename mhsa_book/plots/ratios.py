"""Benchmarks: a dot for every implementation in every cell, and memory against length."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mhsa_book.plots import style
from mhsa_book.plots.charts import plain
from mhsa_book.results.records import AGAIN, OURS, UNIT, Race

COLUMNS = 3
ROW = 0.2
TICKS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16, 32, 64, 128)


def ratios(races: Sequence[Race], names: Sequence[str] | None = None) -> None:
    """Draw time relative to raw, a panel per cell: median as a dot, quartiles as a bar.

    Raw is the line at 1, the A/A band is grey, the tick at the bottom the least time possible.
    ``names`` chooses implementations; all but the second raw otherwise. × was not timed.
    """
    if not races:
        raise ValueError("there is no cell to draw; races is empty.")
    names = _order(races) if names is None else list(names)
    rows = math.ceil(len(races) / COLUMNS)
    fig = style.figure(style.WIDTH, rows * (ROW * len(names) + 0.5) + 0.5)
    grid = fig.subplots(rows, min(COLUMNS, len(races)), sharex=True, sharey=True, squeeze=False)
    axes = list(grid.flat)
    low, high = _limits(races, names)
    for ax, race in zip(axes, races, strict=False):
        ax.set(xscale="log", xlim=(low, high), ylim=(len(names) - 0.3, -0.7))
        ax.axvspan(1 / (1 + race.band), 1 + race.band, color=style.FAINT, alpha=0.35, lw=0)
        ax.axvline(1, color=style.INK, linewidth=0.8)
        for row, name in enumerate(names):
            _dot(ax, race, name, row, low)
        if race.bound is not None and race.bound > low:
            ax.axvline(race.bound, ymax=0.06, color=style.INK, linewidth=2.5)
        ax.set_title(_title(race), fontsize=style.TEXT)
        shown = [tick for tick in TICKS if low <= tick <= high]
        step = max(1, math.ceil(len(shown) / 4))
        shown = [t for t in shown if round(math.log2(t)) % step == 0]
        ax.set_xticks(shown, [f"{tick:g}" for tick in shown])
        ax.set_xticks([], minor=True)
        labels = [style.label(name, longest=24) for name in names]
        ax.set_yticks(range(len(names)), labels, parse_math=False)
        plain(ax, "", "")
    for ax in axes[len(races) :]:
        ax.set_visible(False)
    fig.supxlabel("time / raw, logarithmic; × was not timed", fontsize=style.TEXT)


def memory(found: Mapping[str, Mapping[int, float]]) -> None:
    """Draw extra memory in MB against tokens, both logarithmic, a curve per implementation.

    >>> memory({"ours": {512: 5.0, 1024: 10.0}, "explicit": {512: 20.0, 1024: 80.0}})
    """
    if not found:
        raise ValueError("there is no curve to draw; nothing was measured.")
    fig = style.figure(style.WIDTH, 4.4)
    ax = fig.add_subplot()
    ax.set(xscale="log", yscale="log")
    by_end = sorted(found, key=lambda name: -list(found[name].values())[-1])
    for i, name in enumerate(by_end):
        ours = name == OURS
        ax.plot(
            list(found[name]),
            list(found[name].values()),
            color=style.SERIES[5] if ours else style.SERIES[0],
            marker="D" if ours else "os^v<>P*X"[i % 9],
            linewidth=2.5 if ours else 1.2,
            linestyle="-" if ours else ("-", "--", "-.", ":")[i % 4],
            markersize=6,
            zorder=3 if ours else 2,
            label=style.label(name, longest=32),
        )
    tokens = sorted({n for by_length in found.values() for n in by_length})
    ax.set_xticks(tokens, [f"{n:,}" for n in tokens])
    ax.set_xticks([], minor=True)
    ax.yaxis.set_major_formatter(lambda mb, _: f"{mb:,g}")
    plain(ax, "tokens", "extra memory, MB")
    fig.legend(loc="outside right upper", fontsize=style.TEXT, frameon=False)


def _dot(ax: Any, race: Race, name: str, row: int, left: float) -> None:
    entry = next((entry for entry in race.entries if entry.name == name), None)
    if entry is None or entry.ratio is None:
        ax.plot(left * 1.12, row, marker="x", color=style.FAINT, markersize=6)
        return
    lower, middle, upper = entry.ratio
    ours = name == OURS
    ax.errorbar(
        middle,
        row,
        xerr=[[middle - lower], [upper - middle]],
        fmt="D" if ours else "o",
        color=style.SERIES[5] if ours else style.SERIES[0],
        markersize=7 if ours else 4.5,
        elinewidth=1.5,
        zorder=3,
    )


def _order(races: Sequence[Race]) -> list[str]:
    """Ours first, raw next, and then from the fastest to the slowest."""
    seen: dict[str, list[float]] = {}
    for race in races:
        for entry in race.entries:
            logs = seen.setdefault(entry.name, [])
            logs += [math.log(entry.ratio[1])] if entry.ratio else []
    first = {OURS: -2.0, UNIT: -1.0}
    mean = {n: sum(logs) / len(logs) if logs else math.inf for n, logs in seen.items()}
    shown = [name for name in seen if name != AGAIN]
    return sorted(shown, key=lambda n: (0, first[n]) if n in first else (1, mean[n]))


def _limits(races: Sequence[Race], names: Sequence[str]) -> tuple[float, float]:
    ratios = [
        value
        for race in races
        for entry in race.entries
        if entry.ratio is not None and entry.name in names
        for value in entry.ratio
    ]
    bounds = [race.bound for race in races if race.bound is not None]
    return min([0.5, *ratios, *bounds]) / 1.25, max([2.0, *ratios]) * 1.15


def _title(race: Race) -> str:
    cell = race.cell
    if cell.mode == "decode":
        layers = f", {cell.n_layers} layers" if cell.n_layers > 1 else ""
        return f"{cell.size}, {cell.n_heads} on {cell.kv_heads}{layers}"
    return f"{cell.size}, {cell.mask}"
