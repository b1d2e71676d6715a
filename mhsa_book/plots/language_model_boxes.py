"""A language model as one picture: what happens to the row of each token, from below."""

from collections.abc import Sequence
from typing import Any

from matplotlib.patches import Rectangle

from mhsa_book.models import LanguageModel
from mhsa_book.plots import style

LEFT, RIGHT = 1.95, 0.3
"""Inches left and right of the rows; what stands there says what happens beside it."""

MEET, ALONE, GAP = 0.85, 0.36, 0.16
"""Inches: attention, in which rows meet; an MLP, in which each is alone; between two."""

ATTENTION, MLP = "#cfe6f5", "#ececec"
MOST_TOKENS = 20
N_NEXT = 3


def language_model(lm: LanguageModel, text: str) -> None:
    """Draw a language model at work on a text: its first and its last layer.

    Every token is a vertical line, its row, which goes up through all layers. In attention
    each row receives from itself and those before it, and the lines that lead to the last row
    are drawn darker; in an MLP each row is alone. What comes next is read off the last row.
    Tokens, sizes and probabilities are those of the model. Raises ``ValueError`` for a text of
    more than 20 tokens.

    >>> from mhsa_book import models
    >>> language_model(models.load("SmolLM2-135M"), "The capital of France is")
    """
    tokens = [token.strip() or token for token in lm.tokens(text)]
    if len(tokens) > MOST_TOKENS:
        raise ValueError(
            f"text has {len(tokens)} tokens, and at most {MOST_TOKENS} fit side by side; "
            f"shorten it."
        )
    layer = MEET + ALONE + 3 * GAP
    height = 0.3 + 0.45 + min(lm.n_layers, 2) * layer + 0.55 * (lm.n_layers > 2)
    height += 0.3 + 0.34 + 0.24 * N_NEXT + 0.2
    fig = style.figure(style.WIDTH, height)
    fig.set_layout_engine("none")
    ax = fig.add_axes((0, 0, 1, 1), xlim=(0, style.WIDTH), ylim=(0, height))
    ax.axis("off")
    step = (style.WIDTH - LEFT - RIGHT) / len(tokens)
    rows = [LEFT + step * (i + 0.5) for i in range(len(tokens))]
    for x, token in zip(rows, tokens, strict=True):
        _text(ax, x, 0.15, style.label(token), ha="center", fontsize=9)
    _text(ax, 0.1, 0.15, f"{len(tokens)} tokens")
    level = _embedding(ax, rows, 0.3, lm.d_model)
    level = _layer(ax, rows, level, 0, lm.n_heads)
    if lm.n_layers > 2:
        level = _more_layers(ax, rows, level, lm.n_layers - 2)
    if lm.n_layers > 1:
        level = _layer(ax, rows, level, lm.n_layers - 1, lm.n_heads)
    _next(ax, rows, level, lm, text)


def _embedding(ax: Any, rows: Sequence[float], level: float, d_model: int) -> float:
    """A box for the row of each token; where its top is."""
    for x in rows:
        ax.add_patch(
            Rectangle((x - 0.06, level + 0.05), 0.12, 0.4, fc=style.PAPER, ec=style.INK)
        )
    _text(ax, 0.1, level + 0.25, f"embedding: each gets\na row of {d_model} numbers")
    return level + 0.45


def _layer(ax: Any, rows: Sequence[float], level: float, number: int, n_heads: int) -> float:
    """Attention and MLP of one layer, both of which add to the rows; where it ends."""
    bottom, top = level + GAP, level + GAP + MEET
    _band(ax, bottom, MEET, ATTENTION)
    _text(ax, 0.1, top - 0.13, f"layer {number}", weight="bold")
    _text(ax, 0.1, bottom + 0.33, f"attention, {n_heads} heads:\nrows receive from others")
    for i, start in enumerate(rows):
        for j, end in enumerate(rows[i + 1 :], i + 1):
            last = j == len(rows) - 1
            colour, width = (style.SERIES[0], 1.1) if last else (style.FAINT, 0.25)
            ax.plot([start, end], [bottom, top], color=colour, lw=width, zorder=2 + last)
    _band(ax, top + GAP, ALONE, MLP)
    _text(ax, 0.1, top + GAP + ALONE / 2, "MLP: each row alone")
    for x in rows:
        box = Rectangle((x - 0.09, top + GAP + 0.08), 0.18, ALONE - 0.16, zorder=4)
        box.set(facecolor=style.PAPER, edgecolor=style.INK, linewidth=0.8)
        ax.add_patch(box)
    end = top + GAP + ALONE + GAP
    _lines(ax, rows, level, end)
    for x in rows:
        for joined in (top + GAP / 2, end - GAP / 2):
            ax.plot([x], [joined], marker="+", color=style.INK, markersize=6, mew=1.1)
    return end


def _more_layers(ax: Any, rows: Sequence[float], level: float, n_layers: int) -> float:
    for x in rows:
        ax.plot([x, x], [level, level + 0.55], color=style.INK, lw=1.2, ls=":")
    more = "layer" if n_layers == 1 else "layers"
    _text(ax, 0.1, level + 0.27, f"… {n_layers} more {more},\nbuilt in the same way …")
    return level + 0.55


def _next(ax: Any, rows: Sequence[float], level: float, lm: LanguageModel, text: str) -> None:
    """The last row alone goes on, to a probability for each token of the vocabulary."""
    for x in rows[:-1]:
        ax.plot([x, x], [level, level + 0.12], color=style.INK, lw=1.2)
        ax.plot([x], [level + 0.12], marker="_", color=style.INK, markersize=8)
    box, high = level + 0.3, 0.34
    right = style.WIDTH - 0.1
    arrow = {"arrowstyle": "-|>", "color": style.INK, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", (rows[-1], box), (rows[-1], level), arrowprops=arrow)
    ax.add_patch(Rectangle((LEFT, box), right - LEFT, high, fc=style.PAPER, ec=style.INK))
    size = f"{len(lm.vocabulary()):,}"
    _text(
        ax, right - 0.1, box + high / 2, f"a probability for each of {size} tokens", ha="right"
    )
    _text(ax, 0.1, box + high / 2, "the last row says\nwhat comes next")
    full = right - 0.55 - (LEFT + 0.9)
    for i, (token, p) in enumerate(lm.next(text, N_NEXT)):
        y = box + high + 0.2 + 0.24 * (N_NEXT - 1 - i)
        _text(ax, LEFT + 0.8, y, style.label(token.strip() or token), ha="right")
        bar = Rectangle((LEFT + 0.9, y - 0.08), full * p, 0.16, facecolor=style.SERIES[0])
        ax.add_patch(bar)
        _text(ax, LEFT + 0.96 + full * p, y, f"{p:.2f}")


def _lines(ax: Any, rows: Sequence[float], level: float, end: float) -> None:
    for x in rows:
        ax.plot([x, x], [level, end], color=style.INK, lw=1.2, zorder=3)


def _band(ax: Any, level: float, high: float, colour: str) -> None:
    left = LEFT - 0.05
    place = (left, level), style.WIDTH - 0.1 - left, high
    ax.add_patch(Rectangle(*place, facecolor=colour, edgecolor="none", zorder=1))


def _text(ax: Any, x: float, y: float, said: str, **more: Any) -> None:
    look: dict[str, Any] = {"va": "center", "ha": "left", "fontsize": style.TEXT}
    ax.text(x, y, said, color=style.INK, parse_math=False, **look | more)
