"""What all pictures share: sizes, colours, and text that is safe to draw."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.font_manager import FontProperties, findfont, get_font

WIDTH = 7.6
"""Inches; the column of a page shows it without shrinking the text much."""

TEXT = 9.5
"""Points; nothing in a picture is smaller than 9."""

INK, PAPER, FAINT = "#1a1a1a", "#ffffff", "#8a8a8a"

WEIGHT_MAP = LinearSegmentedColormap.from_list(
    "weight",
    [
        "#f0fbff",
        "#abe4fb",
        "#6ac9f4",
        "#3cace2",
        "#2d8ec6",
        "#2470a9",
        "#1d548b",
        "#233a64",
        "#1d223d",
    ],
).with_extremes(bad="#ffffff")
"""White is nothing, navy everything; lightness L* falls from 98 to 14 in equal steps."""

SERIES = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#f0e442",
    "#999999",
)
"""Okabe and Ito's colours for series; a hatch or a marker always says the same."""

LONGEST_LABEL = 14

CHARACTER = 0.08
"""Inches of one character of a label, generously."""


def figure(width: float, height: float) -> Any:
    """A white figure of at most ``WIDTH`` inches that keeps its text inside."""
    fig = plt.figure(figsize=(min(width, WIDTH), height), dpi=100, layout="constrained")
    fig.set_facecolor(PAPER)
    fig.get_layout_engine().set(w_pad=0.06, h_pad=0.06)
    return fig


def label(token: Any, longest: int = LONGEST_LABEL) -> str:
    r"""A token as it can be drawn: shortened, control characters spelled out.

    A character that the font lacks becomes □.

    >>> label("a" * 1000), label("日"), label(chr(0))
    ('aaaaaaaaaaaaa…', '□', '\\x00')
    """
    text = str(token)
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    spelled = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )
    return "".join(c if ord(c) in _drawable() else "□" for c in spelled)


def labels(tokens: Sequence[Any], room: float) -> tuple[list[int], list[str]]:
    """Positions and texts of the labels that fit in ``room`` inches, evenly thinned.

    >>> labels(list("abcd"), room=0.4)
    ([0, 2], ['a', 'c'])
    """
    step = max(1, math.ceil(len(tokens) * 11.5 / (room * 72)))
    positions = list(range(0, len(tokens), step))
    return positions, [label(tokens[i]) for i in positions]


def text_width(tokens: Sequence[Any]) -> float:
    """Inches left of an axis for its labels and its name."""
    return CHARACTER * max(len(label(token)) for token in tokens) + 0.35


def upright(tokens: Sequence[Any], width: float) -> bool:
    """Whether all labels fit side by side under ``width`` inches without being turned."""
    widest = max(len(label(token)) for token in tokens)
    return (widest + 1) * CHARACTER * len(tokens) < width


def rotated_height(tokens: Sequence[Any], width: float) -> float:
    """Inches below an axis for its labels and its name."""
    return 0.45 if upright(tokens, width) else text_width(tokens)


@cache
def _drawable() -> frozenset[int]:
    return frozenset(get_font(findfont(FontProperties(family="DejaVu Sans"))).get_charmap())
