"""What is replaced where when one path between two layers is patched."""

from collections.abc import Sequence
from typing import Any

from matplotlib.patches import Rectangle

from mhsa_book.plots import style

READS = {"q": "queries", "k": "keys", "v": "values"}
OTHER = style.SERIES[5]
"""The colour of what comes from the other text; it is dashed as well."""

BOX, LANE = 0.36, 0.52
"""Inches: the height of a box, and from one head to the next."""

TEXTS, HEADS, SUM, WIRES, LATER, LOGITS = 0.1, 1.75, 3.05, 4.15, 5.55, 6.75
"""Inches from the left of the picture to each column of boxes."""


def path_patch(heads: Sequence[str], patched: str, wire: str) -> None:
    """Draw a pass through two layers in which one path carries what another text would send.

    ``heads`` names the heads of the earlier layer. ``wire`` ("q", "k", "v") of the later layer
    reads the sum with the head ``patched`` of the other text, dashed, in place of its own; all
    else reads the sum as it is. Raises ``ValueError`` for a head or a wire that is not there.

    >>> path_patch(["L0H0", "L0H1"], patched="L0H1", wire="k")
    """
    if patched not in heads or wire not in READS:
        raise ValueError(
            f"patched={patched!r} and wire={wire!r} name no path; choose one of {[*heads]}, "
            f"and one of {[*READS]}."
        )
    height = max(LANE * (len(heads) + 2), LANE * 5) + 0.1
    fig = style.figure(style.WIDTH, height)
    fig.set_layout_engine("none")
    ax = fig.add_axes((0, 0, 1, 1), xlim=(0, style.WIDTH), ylim=(height, 0))
    ax.axis("off")
    above, rows = LANE / 2 + 0.05, [LANE * (i + 1.5) + 0.05 for i in range(len(heads))]
    bottom = rows[-1] + LANE
    middle = (rows[0] + bottom) / 2
    _earlier(ax, heads, rows, bottom, middle)
    # The patched wire comes first, so that its path from above crosses nothing.
    wires = [wire, *(other for other in READS if other != wire)]
    places = dict(zip(wires, (middle - LANE, middle, middle + LANE), strict=True))
    _later(ax, places, bottom, middle)
    _patch(ax, patched, above, places[wire])


def _earlier(
    ax: Any, heads: Sequence[str], rows: Sequence[float], bottom: float, middle: float
) -> None:
    """The text, the heads that read it, and the sum in which all of them write."""
    _box(ax, TEXTS, middle, 1.0, "this text")
    ax.add_patch(
        Rectangle(
            (SUM, rows[0] - BOX / 2),
            0.55,
            bottom - rows[0] + BOX,
            facecolor=style.PAPER,
            edgecolor=style.INK,
        )
    )
    _text(ax, SUM + 0.275, middle, "sum")
    for name, row in zip(heads, rows, strict=True):
        _box(ax, HEADS, row, 0.75, name)
        _arrow(ax, (TEXTS + 1.0, middle), (HEADS, row))
        _arrow(ax, (HEADS + 0.75, row), (SUM, row))
    _arrow(ax, (TEXTS + 1.0, middle), (HEADS, bottom), head=False)
    _arrow(ax, (HEADS, bottom), (SUM, bottom))
    _text(ax, (HEADS + SUM) / 2, bottom - 0.13, "token, position")


def _later(ax: Any, places: dict[str, float], bottom: float, middle: float) -> None:
    """What the later layer reads, and what goes past it."""
    for wire, place in places.items():
        _box(ax, WIRES, place, 0.85, READS[wire])
        _arrow(ax, (SUM + 0.55, place), (WIRES, place))
        _arrow(ax, (WIRES + 0.85, place), (LATER, middle))
    _box(ax, LATER, middle, 0.75, "layer 1")
    _box(ax, LOGITS, middle, 0.7, "logits")
    _arrow(ax, (LATER + 0.75, middle), (LOGITS, middle))
    _arrow(ax, (SUM + 0.55, bottom), (LOGITS + 0.35, bottom), head=False)
    _arrow(ax, (LOGITS + 0.35, bottom), (LOGITS + 0.35, middle + BOX / 2))


def _patch(ax: Any, patched: str, above: float, place: float) -> None:
    """The other text, its head, and the one place where that is read."""
    _box(ax, TEXTS, above, 1.0, "other text", patch=True)
    _box(ax, HEADS, above, 0.75, patched, patch=True)
    _arrow(ax, (TEXTS + 1.0, above), (HEADS, above), patch=True)
    turn, into = WIRES + 0.425, place - BOX / 2
    corners = (HEADS + 0.75, turn, turn), (above, above, into - 0.2)
    ax.plot(*corners, color=OTHER, linestyle="--", linewidth=2.2)
    _arrow(ax, (turn, into - 0.2), (turn, into), patch=True)
    said = f"in place of this text's {patched}"
    _text(ax, turn + 0.12, above, said, ha="left")


def _box(ax: Any, left: float, y: float, width: float, text: str, patch: bool = False) -> None:
    ax.add_patch(
        Rectangle(
            (left, y - BOX / 2),
            width,
            BOX,
            facecolor=style.PAPER,
            edgecolor=OTHER if patch else style.INK,
            linestyle="--" if patch else "-",
            linewidth=1.8 if patch else 1.0,
            zorder=3,
        )
    )
    _text(ax, left + width / 2, y, text)


def _text(ax: Any, x: float, y: float, text: str, **look: Any) -> None:
    look = {"color": style.INK, "ha": "center"} | look
    ax.text(x, y, text, va="center", fontsize=style.TEXT, zorder=4, parse_math=False, **look)


def _arrow(
    ax: Any,
    start: tuple[float, float],
    end: tuple[float, float],
    patch: bool = False,
    head: bool = True,
) -> None:
    ax.annotate(
        "",
        end,
        start,
        arrowprops={
            "arrowstyle": "-|>" if head else "-",
            "color": OTHER if patch else style.FAINT,
            "linestyle": "--" if patch else "-",
            "linewidth": 2.2 if patch else 1.1,
            "shrinkA": 0,
            "shrinkB": 0,
        },
    )
