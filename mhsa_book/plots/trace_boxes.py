"""The shape pipeline: one box for each wire of a trace."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from mhsa_book.plots import style
from mhsa_lib.shapes import AXIS_COLOURS
from mhsa_lib.tracing.drawing import Step
from mhsa_lib.tracing.wires import Wires

LARGEST, SMALLEST = 0.62, 0.05
"""Inches of the longest side drawn, and of the shortest."""

SHEETS, SHIFT = 8, 0.02
"""Sheets drawn at most for batch and heads, and inches from one to the next."""

NAME, LINE = 0.42, 0.165
"""Inches: a wire's name with room for sheets, and a line of text below a box."""

GROWS = "#f3c9a8"
HERE, SIGN = "#fff0b3", 0.2
"""What is behind the wires of a chapter, and inches for the words above it."""

VIEW = (0, (3, 2))

Column = list[Step]


def pipeline(wires: Wires, here: Sequence[str] = ()) -> None:
    """Draw the shapes of a trace, from left to right in order of computation.

    The sides of a box grow with the square root of its last two sizes, on one scale for all
    boxes; batch and heads are sheets behind it. Each side has the colour of its axis. A dashed
    outline is a view, a solid one new memory, a filled box (query × key) grows with the square
    of the length. Arrows lead from what a wire is made of. The wires ``here`` are marked "you
    are here". Raises ``ValueError`` if nothing was traced, or no such wire.

    >>> import torch
    >>> from mhsa_lib import MultiHeadAttention, trace
    >>> mha = MultiHeadAttention(12, 3)
    >>> with trace(mha) as wires:
    ...     y = mha(torch.zeros(6, 12))
    >>> pipeline(wires, here=["scores", "weights"])
    """
    steps = list(wires.steps.values())
    if not steps:
        raise ValueError(
            "the trace holds no wires; run a forward pass inside `with trace(…)` first."
        )
    if unknown := set(here) - set(wires.steps):
        raise ValueError(
            f"here={sorted(unknown)} are no wires of this trace; choose from {[*wires.steps]}."
        )
    rows = _rows(_columns(steps))
    lane = NAME + LARGEST + 0.1 + LINE * max(len(step.axes) for step in steps) + 0.12
    width = max(sum(map(_width, row)) for row in rows)
    handles = _handles(steps)
    n_across = int(max(width, 6.4) / (0.067 * max(len(h.get_label()) for h in handles) + 0.5))
    legend = LINE * 1.15 * -(-len(handles) // n_across) + 0.4
    start = SIGN if here else 0.0
    height = start + lane * sum(max(map(len, row)) for row in rows) + legend
    fig = style.figure(max(width, 6.4), height)
    fig.set_layout_engine("none")
    ax = fig.add_axes((0, 0, 1, 1), xlim=(0, fig.get_figwidth()), ylim=(height, 0))
    ax.axis("off")
    scale = LARGEST / math.sqrt(max(size for step in steps for size in step.shape[-2:]))
    top = start
    for row in rows:
        _draw_row(ax, row, top, lane, scale, here)
        _draw_arrows(ax, row, top, lane)
        top += lane * max(map(len, row))
    fig.legend(
        handles=handles,
        loc="lower center",
        ncols=n_across,
        fontsize=9,
        frameon=False,
        columnspacing=1.2,
        title="Sides grow with the square root of the size; sheets are batch and heads.",
        title_fontsize=9,
    )


def _columns(steps: list[Step]) -> list[Column]:
    """Wires that are made side by side share a column: q k v, then their heads."""
    columns: list[Column] = []
    for step in steps:
        last = columns[-1][-1].name if columns else ""
        beside = {last[:1], step.name[0]} <= set("qkv") and last[1:] == step.name[1:]
        if beside:
            columns[-1].append(step)
        else:
            columns.append([step])
    return columns


def _rows(columns: list[Column]) -> list[list[Column]]:
    """As many columns in a row as the page is wide."""
    rows: list[list[Column]] = [[]]
    for column in columns:
        if rows[-1] and sum(map(_width, rows[-1])) + _width(column) > style.WIDTH:
            rows.append([])
        rows[-1].append(column)
    return rows


def _width(column: Column) -> float:
    """Inches a column needs for its longest label."""
    longest = max(len(text) for step in column for text in _texts(step))
    return max(0.067 * longest + 0.36, LARGEST + SHIFT * SHEETS + 0.2)


def _draw_row(
    ax: Any, row: list[Column], top: float, lane: float, scale: float, here: Sequence[str]
) -> None:
    left = 0.0
    for column in row:
        first = _first_lane(row, column, top, lane)
        for j, step in enumerate(column):
            if step.name in here:
                _mark(ax, left, first + lane * j, _width(column), lane, step.name == here[0])
            _box(ax, step, left + 0.12, first + lane * j, scale)
        left += _width(column)


def _first_lane(row: list[Column], column: Column, top: float, lane: float) -> float:
    return top + (max(map(len, row)) - len(column)) * lane / 2


def _draw_arrows(ax: Any, row: list[Column], top: float, lane: float) -> None:
    """From each wire of a column to those of the next that are made of it."""
    left, arrow = 0.0, {"arrowstyle": "->", "color": style.FAINT}
    for before, column in itertools.pairwise(row):
        left += _width(before)
        for j, step in enumerate(column):
            for i, source in enumerate(before):
                if source in _sources(step, before):
                    start, end = (
                        _first_lane(row, each, top, lane) + lane * n + NAME + LARGEST / 2
                        for each, n in ((before, i), (column, j))
                    )
                    ax.annotate("", (left + 0.1, end), (left - 0.08, start), arrowprops=arrow)
    _draw_values_to_z(ax, row, top, lane)


def _draw_values_to_z(ax: Any, row: list[Column], top: float, lane: float) -> None:
    """The values go below the scores and weights, which they wait for, and up into z."""
    starts = [0.0, *itertools.accumulate(map(_width, row))]
    places = {step.name: (at, j) for at, each in enumerate(row) for j, step in enumerate(each)}
    values = [wire for wire in places if wire[0] == "v" and places[wire][1] == 2]
    if "z" not in places or not values:
        return
    (v, j), (z, _) = places[values[-1]], places["z"]
    level = _first_lane(row, row[v], top, lane) + lane * j + NAME + LARGEST / 2
    x, y = starts[z] + 0.12 + LARGEST / 3, _first_lane(row, row[z], top, lane) + lane
    ax.plot((starts[v + 1] - 0.08, x), (level, level), color=style.FAINT, linewidth=1)
    arrow = {"arrowstyle": "->", "color": style.FAINT, "shrinkA": 0}
    ax.annotate("", (x, y), (x, level), arrowprops=arrow)


def _sources(step: Step, before: Column) -> Column:
    """What a wire is made of among those one column to the left.

    Queries come from queries, keys from keys, values from values. Scores take queries and keys:
    the values wait for the weights.
    """
    alike = [source for source in before if source.name[0] == step.name[0]]
    if step.name[0] in "qkv" and alike:
        return alike
    return [source for source in before if len(before) == 1 or source.name[0] != "v"]


def _mark(ax: Any, left: float, top: float, width: float, lane: float, first: bool) -> None:
    above = SIGN if first else 0.0
    ax.add_patch(
        Rectangle((left, top - above), width, lane + above, facecolor=HERE, lw=0, zorder=0)
    )
    if first:
        ax.text(
            left + 0.12, top - 0.08, "you are here", fontsize=9, va="center", style="italic"
        )


def _box(ax: Any, step: Step, left: float, top: float, scale: float) -> None:
    (*leading, (row, n_rows), (column, n_columns)) = step.axes.items()
    width, height = (max(SMALLEST, scale * math.sqrt(_count(n))) for n in (n_columns, n_rows))
    y = top + NAME + (LARGEST - height) / 2
    fill = GROWS if {"query", "key"} <= step.axes.keys() else style.PAPER
    for sheet in reversed(range(min(SHEETS, math.prod(_count(size) for _, size in leading)))):
        corner = (left + SHIFT * sheet, y - SHIFT * sheet)
        edge: dict[str, Any] = {"edgecolor": style.FAINT, "linewidth": 0.6}
        ax.add_patch(Rectangle(corner, width, height, facecolor=fill, **edge))
    line = {"linewidth": 2.6, "linestyle": VIEW if step.result == "view" else "-"}
    for across in (y, y + height):
        ax.plot((left, left + width), (across, across), color=_colour(column), **line)
    for down in (left, left + width):
        ax.plot((down, down), (y, y + height), color=_colour(row), **line)
    ax.text(left, top + 0.12, step.name, fontsize=10, va="center", weight="bold")
    for i, (axis, text) in enumerate(zip(step.axes, _texts(step), strict=True)):
        below = top + NAME + LARGEST + 0.1 + LINE * (i + 0.5)
        ax.plot(left + 0.03, below, marker="s", markersize=5, color=_colour(axis))
        ax.text(left + 0.1, below, text, fontsize=9, va="center")


def _handles(steps: list[Step]) -> list[Any]:
    """What the legend names: every axis once, view and new memory, and what grows."""
    known = {axis: size for step in steps for axis, size in step.axes.items()}
    return [
        *(Patch(color=_colour(axis), label=_text(axis, size)) for axis, size in known.items()),
        Line2D([], [], color=style.INK, linewidth=2, label="new memory"),
        Line2D([], [], color=style.INK, linewidth=2, linestyle=VIEW, label="view"),
        Patch(facecolor=GROWS, edgecolor=style.FAINT, label="query × key"),
    ]


def _texts(step: Step) -> list[str]:
    return [_text(axis, size) for axis, size in step.axes.items()]


def _text(axis: str, size: int | tuple[int, ...]) -> str:
    return f"{axis} {size:,}" if isinstance(size, int) else f"{axis} {'×'.join(map(str, size))}"


def _colour(axis: str) -> str:
    return AXIS_COLOURS.get(axis, "#6b6b6b")


def _count(size: int | tuple[int, ...]) -> int:
    return size if isinstance(size, int) else math.prod(size)
