"""Heat maps of attention weights: one head, one layer, a whole model."""

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import torch
from matplotlib.patches import Rectangle
from torch import Tensor

from mhsa_book.plots import style

NUMBERS_UP_TO = 8
"""Tokens; a head of at most this many gets its numbers written into the cells."""

BAR, LEFT, TOP = 0.8, 0.6, 0.45
"""Inches for the colour bar with its numbers, and beside and above a grid of panels."""


def heat_map(
    weights: Tensor,
    tokens: Sequence[str],
    keys: Sequence[str] | None = None,
    title: str | None = None,
    axes: tuple[str, str] = ("query", "key"),
    label: str = "weight",
) -> None:
    """Draw one head: a row per query, a column per key, darker is more.

    ``weights`` is (query, key); leading axes of size 1 are dropped. ``tokens`` name the
    queries, and the keys too unless ``keys`` are given; ``axes`` say what rows and columns
    are, and ``label`` what is drawn, if it is another number from 0 to 1.
    Up to 8 tokens the numbers stand in the cells, where "0" is exactly zero; a NaN is hatched.
    Raises ``ValueError`` if shapes and tokens disagree or a weight lies outside [0, 1].

    >>> heat_map(torch.eye(3), ["I", "saw", "it"])
    """
    weights = _checked(weights, ("query", "key"))
    keys = tokens if keys is None else keys
    _named(weights, tokens, keys)
    n_query, n_key = weights.shape
    left = style.text_width(tokens)
    cell = min(0.55, (style.WIDTH - left - BAR) / n_key, 6.0 / n_query)
    width, height = cell * n_key, max(cell, min(0.2, 6.0 / n_query)) * n_query
    fig = style.figure(
        left + width + BAR,
        max(height + style.rotated_height(keys, width) + 0.3 + 0.25 * bool(title), 1.8),
    )
    ax = fig.add_subplot(box_aspect=height / width)
    image = _panel(ax, weights)
    _name_axes(ax, tokens, keys, height, width)
    ax.set_xlabel(axes[1], fontsize=style.TEXT)
    ax.set_ylabel(axes[0], fontsize=style.TEXT)
    if title:
        ax.set_title(title, fontsize=style.TEXT + 1, parse_math=False)
    if max(n_query, n_key) <= NUMBERS_UP_TO:
        _write_numbers(ax, weights)
    _colour_bar(fig, image, weights, label=label)


def heads(
    weights: Tensor,
    tokens: Sequence[str],
    keys: Sequence[str] | None = None,
    titles: Sequence[str] | None = None,
    label: str = "weight",
    axes: tuple[str, str] = ("query", "key"),
) -> None:
    """Draw all heads of a layer side by side, on one scale.

    ``weights`` is (head, query, key); leading axes of size 1 are dropped. ``titles`` replace
    "head 0", "head 1" …, ``label`` and ``axes`` name other numbers from 0 to 1. Raises
    ``ValueError`` as ``heat_map`` does.

    >>> heads(torch.eye(3).expand(2, 3, 3), ["I", "saw", "it"])
    """
    weights = _checked(weights, ("head", "query", "key"))
    keys = tokens if keys is None else keys
    _named(weights[0], tokens, keys)
    n_heads, n_query, n_key = weights.shape
    titles = [f"head {i}" for i in range(n_heads)] if titles is None else titles
    if len(titles) != n_heads:
        raise ValueError(
            f"titles has {len(titles)} entries for {n_heads} heads; give one each."
        )
    full = (n for n in (4, 5) if n_heads % n == 0)  # no row with gaps, where that is possible
    n_columns = 8 if n_heads > 16 else next(full, min(n_heads, 4))
    n_rows = -(-n_heads // n_columns)
    left = style.text_width(tokens)
    width = min((style.WIDTH - left - BAR) / n_columns - 0.1, 2.2)
    height = width * n_query / n_key
    fig = style.figure(
        left + (width + 0.1) * n_columns + BAR,
        max((height + 0.3) * n_rows + style.rotated_height(keys, width) + 0.15, 1.8),
    )
    for i in range(n_heads):
        ax = fig.add_subplot(n_rows, n_columns, i + 1, box_aspect=height / width)
        image = _panel(ax, weights[i])
        ax.set_title(titles[i], fontsize=style.TEXT, parse_math=False)
        _name_axes(ax, tokens, keys, height, width)
        ax.tick_params(labelleft=i % n_columns == 0, labelbottom=i + n_columns >= n_heads)
    fig.supxlabel(axes[1], fontsize=style.TEXT)
    fig.supylabel(axes[0], fontsize=style.TEXT)
    _colour_bar(fig, image, weights, label=label)


def layers_by_heads(weights: Tensor) -> None:
    """Draw every head of a model: a row of panels per layer, a column per head, on one scale.

    ``weights`` is (layer, head, query, key). In each panel queries run down and keys to the
    right. Raises ``ValueError`` for other shapes or weights outside [0, 1].

    >>> layers_by_heads(torch.eye(3).expand(2, 4, 3, 3))
    """
    weights = _checked(weights, ("layer", "head", "query", "key"))
    n_layers, n_heads, n_query, n_key = weights.shape
    width = min((style.WIDTH - LEFT - BAR) / n_heads, 9 * n_key / (n_query * n_layers), 1.2)
    height = width * n_query / n_key
    right, bottom = width * n_heads + LEFT, max(height * n_layers, 1.2) + TOP
    fig = style.figure(right + BAR, bottom + 0.1)
    fig.set_layout_engine("none")  # laying out hundreds of panels by itself takes seconds

    def place(left: float, top: float, width: float, height: float) -> Any:
        inches_wide, inches_high = fig.get_size_inches()
        corner = left / inches_wide, 1 - (top + height) / inches_high
        return fig.add_axes((*corner, width / inches_wide, height / inches_high))

    every_head, every_layer = (max(1, math.ceil(0.22 / size)) for size in (width, height))
    for layer, head in product(range(n_layers), range(n_heads)):
        ax = place(LEFT + width * head, TOP + height * layer, width * 0.95, height * 0.95)
        image = _panel(ax, weights[layer, head])
        ax.set(xticks=[], yticks=[])
        if layer == 0 and head % every_head == 0:
            ax.set_title(str(head), fontsize=style.TEXT, pad=3)
        if head == 0 and layer % every_layer == 0:
            beside = {"rotation": 0, "ha": "right", "va": "center", "labelpad": 3}
            ax.set_ylabel(str(layer), fontsize=style.TEXT, **beside)
    wide, high = fig.get_size_inches()
    text: dict[str, Any] = {"fontsize": style.TEXT, "ha": "center", "va": "center"}
    fig.text((LEFT + width * n_heads / 2) / wide, 1 - 0.12 / high, "head", **text)
    middle = 1 - (TOP + height * n_layers / 2) / high
    fig.text(0.15 / wide, middle, "layer", rotation=90, **text)
    _colour_bar(fig, image, weights, place(right + 0.1, TOP, 0.15, bottom - TOP))


def _checked(weights: Tensor, names: tuple[str, ...]) -> Tensor:
    """The weights as numbers of shape ``names``, on the CPU."""
    given, n = tuple(weights.shape), len(names)
    wanted = "(" + ", ".join(names) + ")"
    if weights.ndim > n and all(size == 1 for size in given[:-n]):
        weights = weights.reshape(given[-n:])
    if weights.ndim > n:
        pick = ", ".join("0" for _ in given[:-n])
        raise ValueError(
            f"weights {given} are not {wanted}; choose, for example weights[{pick}]."
        )
    if weights.ndim < n:
        raise ValueError(f"weights {given} are not {wanted}; an axis is missing.")
    if not weights.numel():
        raise ValueError(f"weights {given} are empty; every axis of {wanted} needs a size.")
    weights = weights.detach().to("cpu", torch.float64)
    outside = weights[(weights < -1e-3) | (weights > 1 + 1e-3)]
    if outside.numel():
        raise ValueError(
            f"weights lie outside [0, 1]: {outside[0]:.4g} is among them; "
            f"scores become weights by softmax."
        )
    return weights


def _named(weights: Tensor, tokens: Sequence[str], keys: Sequence[str]) -> None:
    """Every query and every key has a token."""
    shape = tuple(weights.shape)
    for axis, size, names in (("query", shape[0], tokens), ("key", shape[1], keys)):
        if len(names) != size:
            other = axis == "key" and keys is tokens
            repair = (
                "name the keys with keys=…" if other else "give one token for each position"
            )
            raise ValueError(
                f"{len(names)} tokens for {size} {axis} positions: "
                f"weights (query, key) are {shape}; {repair}."
            )


def _panel(ax: Any, weights: Tensor) -> Any:
    image = ax.imshow(weights.numpy(), cmap=style.WEIGHT_MAP, vmin=0, vmax=1, aspect="auto")
    for spine in ax.spines.values():
        spine.set_edgecolor(style.FAINT)
    for query, key in weights.isnan().nonzero().tolist():
        square = Rectangle((key - 0.5, query - 0.5), 1, 1, fill=False, hatch="xxx", lw=0)
        square.set_edgecolor("#b34700")
        ax.add_patch(square)
    return image


def _name_axes(
    ax: Any, tokens: Sequence[str], keys: Sequence[str], height: float, width: float
) -> None:
    positions, names = style.labels(keys, width)
    angle = 0 if style.upright(keys, width) else 90
    ax.set_xticks(positions, names, rotation=angle, fontsize=style.TEXT, parse_math=False)
    positions, names = style.labels(tokens, height)
    ax.set_yticks(positions, names, fontsize=style.TEXT, parse_math=False)
    ax.tick_params(length=2)


def _write_numbers(ax: Any, weights: Tensor) -> None:
    for query, row in enumerate(weights.tolist()):
        for key, weight in enumerate(row):
            text = "NaN" if weight != weight else f"{weight:.2f}" if weight else "0"
            ink = style.PAPER if weight > 0.56 else style.INK
            where = {"ha": "center", "va": "center", "fontsize": style.TEXT}
            ax.text(key, query, text, color=ink, **where)


def _colour_bar(
    fig: Any, image: Any, weights: Tensor, cax: Any = None, label: str = "weight"
) -> None:
    ticks = [0, 0.25, 0.5, 0.75, 1]
    where = {"ax": fig.axes, "aspect": 25, "pad": 0.02} if cax is None else {"cax": cax}
    bar = fig.colorbar(image, ticks=ticks, **where)
    bar.ax.tick_params(labelsize=style.TEXT, length=2)
    hatched = " (hatched: NaN)" if weights.isnan().any() else ""
    bar.set_label(label + hatched, size=style.TEXT)
    bar.outline.set_edgecolor(style.FAINT)
