"""A still picture: the sentence with the arcs of one head, and bars of the next word."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mhsa_book.plots.style import FAINT, INK, PAPER, TEXT, WIDTH, figure
from mhsa_book.widgets.nine_heads.cases import chances, stored, weights
from mhsa_book.widgets.nine_heads.words import name_of, percent

NAMES = ("#0060a0", "#a85600")
"""The colours of the first and of the second name, as on the page."""

LETTER, GAP, LEAST = 0.077, 0.14, 0.01


def drawn(head: int, off: Sequence[int], word: int) -> None:
    """Draw both, one above the other."""
    fig = figure(WIDTH, 3.6)
    above, below = fig.subplots(2, height_ratios=(1.25, 1))
    _sentence(above, head, off, word)
    _bars(below, off)


def _colour(text: str) -> str:
    names = stored()["words"][:2]
    return NAMES[names.index(text)] if text in names else FAINT


def _sentence(ax: Any, head: int, off: Sequence[int], word: int) -> None:
    tokens = [*stored()["tokens"], stored()["words"][int(chances(off)[:-1].argmax())]]
    widths = np.array([LETTER * len(text) + GAP for text in tokens])
    middles = np.cumsum(widths) - widths / 2
    ax.set(xlim=(0, widths.sum()), ylim=(-0.75, 2.6))
    ax.axis("off")
    for i, text in enumerate(tokens):
        asked = i in (word, len(tokens) - 1)
        look = {"color": _colour(text) if _colour(text) != FAINT else INK, "size": 11}
        ax.text(middles[i], -0.2, text, ha="center", weight="bold" if asked else None, **look)
    last = len(tokens) - 1
    ends = middles[last] + widths[last] * np.array([-0.5, 0.5])
    ax.plot(ends, [-0.32, -0.32], color=INK, lw=1.2)
    t = np.linspace(0, 1, 60)
    for key, weight in enumerate(weights(head, off, word)):
        if weight < LEAST:
            continue
        out = 0.12 if key == word else 0.0
        start, end = middles[word] + out, middles[key] - out
        height = 0.7 if key == word else min(2.2, 0.5 + 0.42 * abs(start - end))
        x = start + (end - start) * t
        ax.plot(
            x,
            0.12 + 4 * height * t * (1 - t),
            color=_colour(tokens[key]),
            lw=0.6 + 8 * weight,
            alpha=0.35 + 0.6 * weight,
            ls=":" if head in off else "-",
            solid_capstyle="round",
        )
        if weight >= 0.03:
            ax.text(
                middles[key], -0.62, percent(weight), ha="center", size=TEXT - 0.5, color=INK
            )
    ax.set_title(f"Arcs of {name_of(head)}", size=TEXT, loc="left", color=INK)


def _bars(ax: Any, off: Sequence[int]) -> None:
    names, found = [*stored()["words"], "all others"], chances(off)
    rows = range(len(names))
    ax.barh(rows, found, height=0.66, color=[_colour(name) for name in names])
    for i, p in zip(rows, found, strict=True):
        ax.text(p + 0.01, i, percent(p), va="center", size=TEXT, color=INK)
    ax.set_yticks(rows, names, size=TEXT)
    ax.set(xlim=(0, 1.12), xticks=[], ylim=(len(names) - 0.5, -0.5), facecolor=PAPER)
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.set_title("The next word", size=TEXT, loc="left", color=INK)
