"""Sentences with arcs from one word to the words it looks at."""

from collections.abc import Sequence
from typing import Any

from matplotlib.patches import Arc
from torch import Tensor

from mhsa_book.plots import style

THICKEST, THINNEST = 6.0, 0.4
"""Points of an arc of weight 1, and of the thinnest arc that is drawn."""

GREY = "#6b6b6b"
"""The ink of a weight that has no arc."""

HIGHEST = 0.62
"""Inches of an arc over the whole sentence."""


def arcs(weights: Tensor, sentences: Sequence[Sequence[str]], query: int = -1) -> None:
    """Draw what one word of each sentence looks at: a thicker arc and a number for each weight.

    ``weights`` is (sentence, key), the row of one query in each sentence; ``query`` says which
    word asks, the last one by default. Weights below 0.005 have a number and no arc. Raises
    ``ValueError`` if weights and sentences disagree, or a weight lies outside [0, 1].

    >>> import torch
    >>> arcs(torch.tensor([[0.1, 0.7, 0.2]]), [["I", "saw", "it"]])
    """
    rows = weights.detach().double().cpu()
    sizes = [len(words) for words in sentences]
    if rows.ndim != 2 or not rows.numel() or sizes != [rows.shape[-1]] * len(rows):
        raise ValueError(
            f"weights {tuple(rows.shape)} are not (sentence, key) of sentences with {sizes} "
            f"words; give one row for each sentence, one weight for each word."
        )
    if ((rows < -1e-3) | (rows > 1 + 1e-3)).any():
        raise ValueError("weights lie outside [0, 1]; scores become weights by softmax.")
    fig = style.figure(style.WIDTH, (HIGHEST + 0.75) * len(sizes))
    for i, (row, words) in enumerate(zip(rows.tolist(), sentences, strict=True)):
        ax = fig.add_subplot(len(sizes), 1, i + 1)
        ax.set(xlim=(-0.6, len(words) - 0.4), ylim=(-1, 1.1))
        ax.axis("off")
        _one(ax, row, words, query % len(words))


def _one(ax: Any, row: Sequence[float], words: Sequence[str], query: int) -> None:
    for key, (word, weight) in enumerate(zip(words, row, strict=True)):
        bold = "bold" if key == query else "normal"
        text: dict[str, Any] = {"ha": "center", "va": "center", "parse_math": False}
        ax.text(key, -0.3, style.label(word), fontsize=style.TEXT + 2, weight=bold, **text)
        ink = style.INK if weight >= 0.005 else GREY
        ax.text(key, -0.8, f"{weight:.2f}", fontsize=style.TEXT, color=ink, **text)
        if weight >= 0.005:
            ax.add_patch(_arc(key, query, len(words), weight))


def _arc(key: int, query: int, n: int, weight: float) -> Arc:
    """Half an ellipse between two words; a small loop from a word to itself."""
    line: dict[str, Any] = {
        "linewidth": max(THINNEST, THICKEST * weight),
        "color": style.SERIES[0],
    }
    if key == query:
        return Arc((key, 0.12), 0.3, 0.5, theta1=-30, theta2=210, **line)
    apart = abs(query - key)
    return Arc(
        ((key + query) / 2, 0), apart, 1.9 * apart / (n - 1), theta1=0, theta2=180, **line
    )
