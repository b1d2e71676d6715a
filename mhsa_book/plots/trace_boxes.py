"""The shape pipeline: a box for each wire of a trace, and arrows from what it was made of."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Patch, Rectangle
from matplotlib.path import Path
from matplotlib.textpath import TextPath

from mhsa_book.plots import style
from mhsa_book.plots.flow import Flow
from mhsa_lib.shapes import AXIS_COLOURS
from mhsa_lib.tracing.drawing import Step
from mhsa_lib.tracing.wires import Wires

LARGEST, SMALLEST = 0.56, 0.05
"""Inches of the longest side drawn, and of the shortest."""

SHEETS, SHIFT = 5, 0.02
"""Sheets drawn at most for batch and heads, and inches from one to the next."""

NAME, LINE = 0.36, 0.165
"""Inches: a wire's name with room for sheets, and a line of text."""

WIDEST = 7.96
"""Inches; beyond it a label takes two lines. Few traces are as long as that."""

GAP, PORT = 0.3, 0.12
"""Inches between boxes side by side, and between arrows that enter the same box."""

GROWS, HERE = "#f3c9a8", "#fff0b3"
"""What fills a table of queries by keys, and the wires of a chapter."""

VIEW = (0, (3, 2))
LINES = {"view": (2.6, VIEW), "input": (1.2, "-")}
"""Width and style of an outline; what is no view and no input is new memory."""

ARROW: dict[str, Any] = {
    "arrowstyle": "-|>",
    "mutation_scale": 8,
    "color": "#6b6b6b",
    "linewidth": 1,
    "joinstyle": "miter",
    "zorder": 0.5,
}


class Place(NamedTuple):
    """Where a wire was drawn, in inches: its sides, its middle, and how high it is."""

    left: float
    right: float
    y: float
    high: float


def pipeline(wires: Wires, here: Sequence[str] = ()) -> None:
    """Draw the shapes of a trace, from left to right in order of computation.

    The sides of a box grow with the square root of its last two sizes, on one scale for all
    boxes; batch and heads are sheets behind it. Each side has the colour of its axis. A dashed
    outline is a view, a solid one new memory, a filled box (query × key) grows with the square
    of the length. Arrows lead from what the trace saw a wire made of. With ``here`` only a
    strip of names is drawn, in which those wires are marked "you are here". Raises
    ``ValueError`` if nothing was traced, or no such wire.

    >>> import torch
    >>> from mhsa_lib import MultiHeadAttention, trace
    >>> mha = MultiHeadAttention(12, 3)
    >>> with trace(mha) as wires:
    ...     y = mha(torch.zeros(6, 12))
    >>> pipeline(wires, here=["scores", "weights"])
    """
    if not wires.steps:
        raise ValueError(
            "the trace holds no wires; run a forward pass inside `with trace(…)` first."
        )
    if unknown := set(here) - set(wires.steps):
        raise ValueError(
            f"here={sorted(unknown)} are no wires of this trace; choose from {[*wires.steps]}."
        )
    flow = Flow.of(wires)
    if here:
        _strip(flow, here)
    else:
        _boxes(flow)


# --- the whole picture -----------------------------------------------------------------------


def _boxes(flow: Flow) -> None:
    steps = [*flow.steps.values()]
    stacked = sum(_widths(flow, stacked=False)) > WIDEST
    widths = _widths(flow, stacked)
    lines = (1 + stacked) * max(len(step.axes) for step in steps)
    lane = NAME + LARGEST + 0.1 + LINE * lines + 0.14
    legend = 0.62
    ax = _canvas(sum(widths), lane * flow.height + legend)
    scale = LARGEST / math.sqrt(max(size for step in steps for size in step.shape[-2:]))
    places = {}
    for name, step in flow.steps.items():
        left = sum(widths[: flow.column[name]]) + 0.06
        top = lane * flow.lane[name]
        right, high = _box(ax, step, left, top, scale, stacked)
        places[name] = Place(left, right, top + NAME + LARGEST / 2, high)
    _arrows(ax, flow, places)
    ax.figure.legend(
        handles=[
            Line2D([], [], color=style.INK, linewidth=2, label="new memory"),
            Line2D([], [], color=style.INK, linewidth=2, linestyle=VIEW, label="view"),
            Patch(facecolor=GROWS, edgecolor=style.FAINT, label="query × key"),
        ],
        loc="lower center",
        ncols=3,
        fontsize=9,
        frameon=False,
        title="Sides grow with the square root of the size; sheets are batch and heads.",
        title_fontsize=9,
    )


def _widths(flow: Flow, stacked: bool) -> list[float]:
    """Inches that each column needs for its boxes and its longest label."""
    found = [LARGEST + SHIFT * SHEETS + 0.24] * (1 + max(flow.column.values()))
    for name, at in flow.column.items():
        lines = [text for label in _labels(flow.steps[name], stacked) for text in label]
        label = max(_inches(text, 9.0) for text in lines)
        found[at] = max(found[at], label + 0.32, _inches(name, 10.0, "bold") + 0.1)
    return found


@cache
def _inches(text: str, size: float, weight: str = "normal") -> float:
    """How wide a word is when it is drawn, which takes ten milliseconds to find."""
    font = FontProperties(family="DejaVu Sans", weight=weight)
    return float(TextPath((0, 0), text, size=size, prop=font).get_extents().width) / 72


def _canvas(width: float, height: float) -> Any:
    """Axes in inches, from the upper left, on a page that may be wider than a column."""
    fig = style.figure(width, height)
    fig.set_figwidth(width)
    fig.set_layout_engine("none")
    ax = fig.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    ax.axis("off")
    return ax


def _box(
    ax: Any, step: Step, left: float, top: float, scale: float, stacked: bool
) -> tuple[float, float]:
    """Draw one wire, and return where its last sheet ends, and how high it is."""
    (*leading, (row, n_rows), (column, n_columns)) = [("", 1), *step.axes.items()]
    width, height = (max(SMALLEST, scale * math.sqrt(_count(n))) for n in (n_columns, n_rows))
    y = top + NAME + (LARGEST - height) / 2
    fill = GROWS if {"query", "key"} <= step.axes.keys() else style.PAPER
    n_sheets = min(SHEETS, math.prod(_count(size) for _, size in leading))
    for sheet in reversed(range(n_sheets)):
        corner = (left + SHIFT * sheet, y - SHIFT * sheet)
        edge: dict[str, Any] = {"edgecolor": style.FAINT, "linewidth": 0.6}
        ax.add_patch(Rectangle(corner, width, height, facecolor=fill, **edge))
    thick, dashes = LINES.get(step.result, (2.6, "-"))
    for across in (y, y + height):
        ax.plot((left, left + width), (across, across), c=_colour(column), lw=thick, ls=dashes)
    for down in (left, left + width):
        ax.plot((down, down), (y, y + height), c=_colour(row), lw=thick, ls=dashes)
    ax.text(left, top + 0.12, step.name, fontsize=10, va="center", weight="bold")
    below = top + NAME + LARGEST + 0.1
    for axis, label in zip(step.axes, _labels(step, stacked), strict=True):
        ax.plot(left + 0.03, below + LINE / 2, marker="s", markersize=5, color=_colour(axis))
        for text in label:
            ax.text(left + 0.1, below + 0.74 * LINE, text, fontsize=9, va="baseline")
            below += LINE
    return left + width + SHIFT * (n_sheets - 1), height


def _arrows(ax: Any, flow: Flow, places: dict[str, Place]) -> None:
    """Along the lane of the source, then across before the wire that is made of it."""
    for name, step in flow.steps.items():
        left, _, y, high = places[name]
        above = sorted(step.sources, key=lambda source: places[source].y)
        apart = min(PORT, high / max(1, len(above)))
        for i, source in enumerate(above):
            _, start, level, _ = places[source]
            end = y + apart * (i - (len(above) - 1) / 2)
            corner = left - 0.13
            points = [(start + 0.03, level), (corner, level), (corner, end), (left - 0.03, end)]
            ax.add_patch(FancyArrowPatch(path=Path(points), **ARROW))


def _labels(step: Step, stacked: bool) -> list[list[str]]:
    """Each axis with its size, on two lines where there is no room for one."""
    words = [[axis, _written(size)] for axis, size in step.axes.items()]
    return words if stacked else [[" ".join(each)] for each in words]


def _written(size: int | tuple[int, ...]) -> str:
    return f"{size:,}" if isinstance(size, int) else "×".join(map(str, size))


def _colour(axis: str) -> str:
    return AXIS_COLOURS.get(axis, "#6b6b6b")


def _count(size: int | tuple[int, ...]) -> int:
    return size if isinstance(size, int) else math.prod(size)


# --- the strip of a chapter ------------------------------------------------------------------


def _strip(flow: Flow, here: Sequence[str]) -> None:
    """Names alone; those of the chapter are bold in a thick frame, and "you are here"."""
    high, lane, sign = 0.26, 0.36, 0.26
    wide = {name: _inches(name, 9.5, "bold") + 0.2 for name in flow.steps}
    spans = [0.0] * (1 + max(flow.column.values()))
    for name, at in flow.column.items():
        spans[at] = max(spans[at], wide[name])
    ax = _canvas(sum(spans) + GAP * len(spans), lane * flow.height + sign + 0.1)
    places = {}
    for name in flow.steps:
        at, width = flow.column[name], wide[name]
        middle = GAP / 2 + sum(spans[:at]) + GAP * at + spans[at] / 2
        y, lit = sign + lane * (flow.lane[name] + 0.5), name in here
        ax.add_patch(
            FancyBboxPatch(
                (middle - width / 2, y - high / 2),
                width,
                high,
                boxstyle="round,pad=0,rounding_size=0.05",
                facecolor=HERE if lit else style.PAPER,
                edgecolor=style.INK if lit else style.FAINT,
                linewidth=2.2 if lit else 0.8,
            )
        )
        weight = "bold" if lit else "normal"
        ax.text(middle, y, name, fontsize=9.5, ha="center", va="center_baseline", weight=weight)
        places[name] = Place(middle - width / 2, middle + width / 2, y, high)
    _arrows(ax, flow, places)
    left = min(places[name].left for name in here)
    top = min(places[name].y for name in here)
    ax.text(
        left, top - high / 2 - 0.11, "you are here", fontsize=9, va="center", style="italic"
    )
