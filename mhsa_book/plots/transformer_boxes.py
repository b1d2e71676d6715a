"""A Transformer as its paper draws it: encoder, decoder, and what goes between them."""

from typing import Any

from matplotlib.patches import Rectangle

from mhsa_book.plots import style
from mhsa_book.transformer import EncoderDecoder

WIDE, HIGH, GAP, FRAME = 2.3, 0.46, 0.22, 0.15
"""Inches: a box, the space between two, and from the boxes of a layer to its frame."""

ENCODER, DECODER, WHOLE = 0.65, 4.25, 7.2
"""Inches from the left edge to the boxes of either side, and to the right edge."""

LABELS = {ENCODER: -FRAME - 0.12, DECODER: WIDE + FRAME + 0.12}
"""Inches from the boxes to the numbers of the layers, away from the memory's arrows."""

ATTENTIONS = {
    "self_attention": ("self-attention", "#cfe6f5"),
    "masked": ("self-attention, causal mask", "#cfe6f5"),
    "cross_attention": ("cross-attention", "#fbe3b5"),
}
"""How a kind is named and filled; a part that is no attention stays white."""


def encoder_decoder(model: EncoderDecoder) -> None:
    """Draw a model from the bottom up: the layers of both sides, their parts, and the memory.

    What is drawn is read off the model: layers, heads and width. Arrows go up the residual
    stream, to which every part adds; norms are left out. Those from the memory bring what keys
    and values are made of.

    >>> encoder_decoder(EncoderDecoder(n_source=9, n_target=8, n_positions=6))
    """
    sides = [_layers(model.encoder, "self_attention"), _layers(model.decoder, "masked")]
    height = max(map(_height, sides)) + 2.6 * (HIGH + GAP)
    fig = style.figure(WHOLE, height)
    fig.set_layout_engine("none")
    ax = fig.add_axes((0, 0, 1, 1), xlim=(0, WHOLE), ylim=(0, height))
    ax.axis("off")
    d_model = model.unembed.in_features
    read, _ = _side(ax, ENCODER, "source", d_model, sides[0])
    said, crossings = _side(ax, DECODER, "target so far", d_model, sides[1])
    memory = _box(ax, ENCODER, read, "memory, a row for each word")
    _box(ax, DECODER, said, "which word comes next?")
    between = (ENCODER + WIDE + DECODER) / 2
    for crossing in crossings:
        corner = [(ENCODER + WIDE, memory), (between, memory), (between, crossing)]
        ax.plot(*zip(*corner, strict=True), color=style.INK, linewidth=1.2)
        _arrow(ax, (between, crossing), (DECODER, crossing))
    _text(ax, between, memory + 0.17, "keys and values")


Parts = list[tuple[str, Any]]


def _layers(layers: Any, own: str) -> list[Parts]:
    """Of each layer what kind of part stands in it, from below, and the part."""
    kinds = {"self_attention": own, "cross_attention": "cross_attention", "feed_forward": ""}
    return [
        [(kind, getattr(layer, name)) for name, kind in kinds.items() if hasattr(layer, name)]
        for layer in layers
    ]


def _height(layers: list[Parts]) -> float:
    return sum(len(parts) * (HIGH + GAP) + 2 * FRAME for parts in layers)


def _side(
    ax: Any, left: float, name: str, d_model: int, layers: list[Parts]
) -> tuple[float, list[float]]:
    """Draw words, table and layers; where the next box goes, and where cross-attentions are."""
    middle = left + WIDE / 2
    _text(ax, middle, 0.2, f"words of the {name}")
    top = 0.32
    _arrow(ax, (middle, top), (middle, top + GAP))
    level = top + GAP + HIGH / 2
    _box(ax, left, level, f"words + positions,\n{d_model} columns each")
    crossings = []
    for number, parts in enumerate(layers):
        bottom = level + HIGH / 2 + GAP - FRAME / 2
        for kind, part in parts:
            level += HIGH + GAP + (FRAME if kind == parts[0][0] else 0)
            _arrow(ax, (middle, level - HIGH / 2 - GAP), (middle, level - HIGH / 2))
            if kind == "cross_attention":
                crossings.append(level)
            _box(ax, left, level, _label(kind, part), kind)
        high = level + HIGH / 2 + 0.8 * FRAME - bottom
        frame = (left - FRAME, bottom), WIDE + 2 * FRAME, high
        ax.add_patch(
            Rectangle(*frame, fill=False, edgecolor=style.FAINT, linestyle=(0, (3, 2)))
        )
        _text(ax, left + LABELS[left], bottom + high / 2, f"layer {number}", rotation=90)
    _arrow(ax, (middle, level + HIGH / 2), (middle, level + HIGH / 2 + GAP + FRAME))
    return level + HIGH + GAP + FRAME, crossings


def _label(kind: str, part: Any) -> str:
    return f"{ATTENTIONS[kind][0]}\n{part.n_heads} heads" if kind else "feed-forward part"


def _box(ax: Any, left: float, level: float, label: str, kind: str = "") -> float:
    """A box whose middle is at ``level``, which is given back."""
    _, colour = ATTENTIONS.get(kind, ("", style.PAPER))
    place = (left, level - HIGH / 2), WIDE, HIGH
    ax.add_patch(Rectangle(*place, facecolor=colour, edgecolor=style.INK))
    _text(ax, left + WIDE / 2, level, label)
    return level


def _arrow(ax: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    line = {"arrowstyle": "-|>", "color": style.INK, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", end, start, arrowprops=line)


def _text(ax: Any, x: float, y: float, said: str, **more: Any) -> None:
    centred = {"ha": "center", "va": "center", "parse_math": False}
    ax.text(x, y, said, fontsize=style.TEXT, color=style.INK, **centred, **more)
