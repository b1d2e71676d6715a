"""A still picture: lines from one word of a sentence to the words that its heads look at."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mhsa_book import examples
from mhsa_book.plots.style import INK, PAPER, SERIES, TEXT, WIDTH, figure

DASHES = ("-", "--", ":")
LETTER, GAP = 0.095, 0.42
"""Inches of a letter, and between two words."""


def arcs(sentences: Sequence[int], word: int, off: Sequence[int]) -> None:
    """Draw sentences below each other, with the lines of the heads that are on."""
    fig = figure(WIDTH, 1.9 * len(sentences))
    for ax, s in zip(fig.subplots(len(sentences), squeeze=False).flat, sentences, strict=True):
        draw_sentence(ax, s, word, off)


def words_of(ax: Any, words: Sequence[str], asks: int | None) -> np.ndarray:
    """Write a sentence below the axes, in bold the word that asks; the middle of each word."""
    widths = [LETTER * len(text) + GAP for text in words]
    middles = np.cumsum(widths) - np.array(widths) / 2
    ax.set(xlim=(0, sum(widths)))
    ax.axis("off")
    for i, text in enumerate(words):
        weight = "bold" if i == asks else "normal"
        ax.text(middles[i], -0.35, text, ha="center", va="center", size=13, weight=weight)
    return middles


def draw_sentence(ax: Any, sentence: int, word: int, off: Sequence[int]) -> None:
    """A sentence on axes, and the lines of its heads from one word."""
    rows = examples.running()["weights"][sentence, :, word]
    middles = words_of(ax, examples.SENTENCES[sentence], word)
    ax.set_ylim(-0.7, 3.3)
    far = [abs(int(row.argmax()) - word) for row in rows]
    for rank, h in enumerate(sorted(range(len(rows)), key=lambda h: far[h])):
        if h not in off:
            _lines(ax, h, rows[h].tolist(), middles, word, rank)


def _lines(
    ax: Any, h: int, row: list[float], middles: np.ndarray, word: int, rank: int
) -> None:
    """The lines of one head, as wide and as dark as the weight; long ones outside and high."""
    t, top = np.linspace(0, 1, 60), 0.7 + rank
    for key, weight in enumerate(row):
        if weight < 0.02:
            continue
        out = -0.12 if key == word else 0.12 * (rank - 1) * np.sign(word - key)
        start, end = middles[word] + out, middles[key] - out
        x = start + (end - start) * t**2 * (3 - 2 * t)
        look = {"color": SERIES[h], "alpha": weight}
        ax.plot(x, 4 * top * t * (1 - t), ls=DASHES[h], lw=0.5 + 2.5 * weight, **look)
        ax.plot(end, 0.02, marker="v", ms=7, **look)
    best = row.index(max(row))
    place = (middles[word] + middles[best]) / 2, top + 0.08
    box = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.5}
    ax.text(*place, examples.HEADS[h], size=TEXT, color=INK, ha="center", va="bottom", bbox=box)
