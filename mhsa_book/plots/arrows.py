"""Rows of two numbers as arrows: dot products with one of them, and what a rotation does."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from matplotlib.patches import Arc

from mhsa_book.plots import style


def dot_products(rows: Mapping[str, Any]) -> None:
    """Draw rows of two numbers as arrows, each with its dot product with the first.

    A dashed line leads from the tip of each to the line of the first row: the dot there is
    how far the row goes in the first one's direction, and the dot product is this distance
    times the first one's length. Raises ``ValueError`` for rows that are not two numbers, or
    a first row that has no direction.

    >>> dot_products({"a": (2, 1), "b": (1, 2), "c": (-1, 2)})
    """
    wrong = {name: [*row] for name, row in rows.items() if len(row) != 2}
    if wrong or not rows or not any(next(iter(rows.values()))):
        raise ValueError(
            f"rows {wrong or dict(rows)} cannot be drawn as arrows in a plane; give two "
            f"numbers each, and a first row that is not zero."
        )
    tips = {name: torch.tensor(row, dtype=torch.float64) for name, row in rows.items()}
    most = max(float(tip.abs().max()) for tip in tips.values()) + 0.9
    first = next(iter(tips))
    main = tips.pop(first)
    fig = style.figure(5.2, 4.6)
    ax = fig.add_subplot(aspect="equal", xlim=(-most, most), ylim=(-most, most))
    along = main / main.norm() * 2 * most
    ax.plot([-along[0], along[0]], [-along[1], along[1]], color=style.FAINT, lw=0.8, zorder=1)
    order = sorted(tips, key=lambda name: -float(tips[name].norm()))  # short ones on top
    for i, name in enumerate(order):
        tip = tips[name]
        foot = tip @ main / (main @ main) * main
        ax.plot(*zip(tip, foot, strict=True), color=style.INK, lw=0.9, ls="--", zorder=1)
        ax.plot(*foot, marker="o", color=style.INK, markersize=4, zorder=5)
        _arrow(ax, tip, style.SERIES[2 + i % 4], f"{first} · {name} = {_short(tip @ main)}")
    _arrow(ax, main, style.SERIES[0], first, bold=True)
    ax.axhline(0, color=style.FAINT, lw=0.5)
    ax.axvline(0, color=style.FAINT, lw=0.5)
    ax.set_xlabel("first number", fontsize=style.TEXT)
    ax.set_ylabel("second number", fontsize=style.TEXT)
    ax.tick_params(labelsize=style.TEXT)
    ax.spines[["top", "right"]].set_visible(False)


def rotated(
    query: Sequence[Any],
    key: Sequence[Any],
    degrees: Any,
    positions: Sequence[tuple[int, int]],
) -> None:
    """Draw a query and a key of two numbers, rotated by ``degrees`` for each position.

    There is a panel for each pair of ``positions``, that of the query and that of the key. Its
    title says the angle between the rotated arrows, which an arc shows, and their dot product;
    where an arrow was before is dashed.
    Raises ``ValueError`` for rows that are not two numbers, and without positions.

    >>> rotated((2, 1), (1, 2), 30, [(3, 1), (6, 4)])
    """
    if len(query) != 2 or len(key) != 2 or not positions:
        raise ValueError(
            f"query {tuple(query)}, key {tuple(key)} and positions {[*positions]} cannot be "
            f"drawn; give two rows of two numbers, and a pair of positions for each panel."
        )
    rows = {"q": query, "k": key}
    before = {name: torch.tensor(row, dtype=torch.float64) for name, row in rows.items()}
    most = max(float(row.norm()) for row in before.values()) + 0.8
    fig = style.figure(2.5 * len(positions), 3.2)
    for i, places in enumerate(positions):
        ax = fig.add_subplot(
            1, len(positions), i + 1, aspect="equal", xlim=(-most, most), ylim=(-most, most)
        )
        tips = []
        for (name, row), place, colour in zip(
            before.items(), places, (style.SERIES[0], style.SERIES[5]), strict=True
        ):
            tips.append(_turned(row, degrees * place))
            ax.plot(*zip((0, 0), row, strict=True), color=colour, lw=1.2, ls="--", zorder=1)
            _arrow(ax, tips[-1], colour, name, bold=True)
        said = f"{float(tips[0] @ tips[1]):.2f}".replace("-", "−")
        between = _arc(ax, *tips)
        title = (
            f"query at {places[0]}, key at {places[1]}\nangle {between:.0f}°, q · k = {said}"
        )
        ax.set_title(title, fontsize=style.TEXT + 0.5)
        ax.axhline(0, color=style.FAINT, lw=0.5)
        ax.axvline(0, color=style.FAINT, lw=0.5)
        ax.set(xticks=[], yticks=[])
    fig.supxlabel("first number of the pair", fontsize=style.TEXT)
    fig.supylabel("second number", fontsize=style.TEXT)


def _turned(row: torch.Tensor, degrees: Any) -> torch.Tensor:
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    a, b = row.tolist()
    return torch.tensor([a * cos - b * sin, a * sin + b * cos], dtype=torch.float64)


def _arc(ax: Any, one: torch.Tensor, other: torch.Tensor) -> float:
    """Draw the angle between two arrows, the smaller one, and return it in degrees."""
    start, end = (math.degrees(math.atan2(*tip.flip(0).tolist())) for tip in (one, other))
    if (end - start) % 360 > 180:  # an arc is drawn anticlockwise
        start, end = end, start
    arc = Arc((0, 0), 1.6, 1.6, theta1=start, theta2=end, color=style.INK, lw=1.2)
    ax.add_patch(arc)
    return (end - start) % 360


def _short(number: torch.Tensor) -> str:
    return f"{float(number):g}".replace("-", "−")


def _arrow(ax: Any, tip: torch.Tensor, colour: str, said: str, bold: bool = False) -> None:
    line = {"arrowstyle": "-|>", "color": colour, "lw": 2.6, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", tip.tolist(), (0, 0), arrowprops=line)
    x, y = (tip + tip / tip.norm().clamp(min=1e-9) * 0.3).tolist()
    x += 0.0 if bold else -0.12
    side = "left" if x > 0 and bold else "right"  # of the tip, away from longer arrows
    look = {"ha": side, "va": "center", "fontsize": style.TEXT + 1, "parse_math": False}
    weight = "bold" if bold else "normal"
    back = {"facecolor": style.PAPER, "edgecolor": "none", "alpha": 0.85, "pad": 1}
    ax.text(x, y, said, color=style.INK, weight=weight, bbox=back, zorder=4, **look)
