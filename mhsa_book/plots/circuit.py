"""Heads as boxes, and who tells whom as arrows."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.patches import FancyBboxPatch

from mhsa_book.plots import style

WIDE, HIGH = 1.38, 0.62
"""Inches of a box, which holds two short lines."""

ROW = 1.0
"""Inches from one row of boxes to the next."""


class Tells(NamedTuple):
    """An arrow from one box to another, with what it says, and whether it speaks against."""

    sender: str
    receiver: str
    says: str = ""
    against: bool = False


def circuit(boxes: Mapping[str, tuple[float, float, str]], arrows: Sequence[Tells]) -> None:
    """Draw boxes at (column, row), rows counted from the top, and arrows between them.

    A box shows its name and a short line. An arrow that speaks against is red and dashed.
    Raises ``ValueError`` where there is no box, or an arrow leads from or to a box that is not
    there.

    >>> circuit({"A": (0.0, 0.0, "repeats"), "B": (1.0, 0.0, "copies")}, [Tells("A", "B")])
    """
    ends = {end for each in arrows for end in each[:2]}
    if not boxes or ends - {*boxes}:
        raise ValueError(f"arrows name {sorted(ends - {*boxes})}; there are {[*boxes]}.")
    n_columns = max(column for column, _, _ in boxes.values()) + 1
    n_rows = max(row for _, row, _ in boxes.values()) + 1
    fig = style.figure(style.WIDTH, ROW * n_rows)
    fig.set_layout_engine("none")
    ax = fig.add_axes((0, 0, 1, 1), xlim=(0, style.WIDTH), ylim=(ROW * n_rows, 0))
    ax.axis("off")
    step = style.WIDTH / n_columns
    middle = {
        name: (step * (column + 0.5), ROW * (row + 0.5))
        for name, (column, row, _) in boxes.items()
    }
    for each in arrows:
        _arrow(ax, middle[each.sender], middle[each.receiver], each)
    for name, (_, _, line) in boxes.items():
        _box(ax, *middle[name], f"{name}\n{line}")


def _box(ax: Any, x: float, y: float, text: str) -> None:
    corner = x - WIDE / 2 + 0.05, y - HIGH / 2 + 0.05
    look: Any = {"facecolor": style.PAPER, "edgecolor": style.INK, "zorder": 3}
    rounded = FancyBboxPatch(corner, WIDE - 0.1, HIGH - 0.1, "round,pad=0.05", **look)
    ax.add_patch(rounded)
    style_of_text = {"fontsize": style.TEXT, "color": style.INK, "parse_math": False}
    ax.text(x, y, text, ha="center", va="center", zorder=4, **style_of_text)


def _arrow(ax: Any, start: Any, end: Any, said: Tells) -> None:
    colour = style.SERIES[5] if said.against else style.SERIES[0]
    (x0, y0), (x1, y1) = start, end
    flat = abs(y1 - y0) < 0.1 or abs(x1 - x0) > abs(y1 - y0)
    if flat:  # from side to side, so that no arrow is hidden behind a box
        side = WIDE / 2 if x1 > x0 else -WIDE / 2
        start, end = (x0 + side, y0), (x1 - side, y1)
    else:
        side = HIGH / 2 if y1 > y0 else -HIGH / 2
        start, end = (x0, y0 + side), (x1, y1 - side)
    arrow = {
        "arrowstyle": "-|>",
        "color": colour,
        "linestyle": "--" if said.against else "-",
        "linewidth": 2.0,
        "shrinkA": 0,
        "shrinkB": 0,
    }
    ax.annotate("", end, start, arrowprops=arrow)
    place = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    look = {"ha": "center", "va": "center", "fontsize": style.TEXT, "color": style.INK}
    ground = {"facecolor": style.PAPER, "edgecolor": "none", "pad": 1.0}
    if said.says:
        ax.text(*place, said.says, zorder=5, bbox=ground, parse_math=False, **look)
