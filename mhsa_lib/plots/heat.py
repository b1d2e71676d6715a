"""Heat maps of attention weights: one head, one layer, a whole model."""

from collections.abc import Sequence
from typing import Any

import torch
from matplotlib.patches import Rectangle
from torch import Tensor

from mhsa_lib.plots import style

NUMBERS_UP_TO = 8
"""Tokens; a head of at most this many gets its numbers written into the cells."""

BAR = 0.8
"""Inches for the colour bar with its numbers."""


def heat_map(
    weights: Tensor,
    tokens: Sequence[str],
    keys: Sequence[str] | None = None,
    title: str | None = None,
) -> None:
    """Draw one head: a row per query, a column per key, darker is more.

    ``weights`` is (query, key); leading axes of size 1 are dropped. ``tokens`` name the
    queries, and the keys too unless ``keys`` are given. Up to 8 tokens the numbers stand in
    the cells, where "0" is exactly zero; a NaN is hatched. Raises ``ValueError`` if shapes and
    tokens disagree or a weight lies outside [0, 1].

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
    ax.set_xlabel("key", fontsize=style.TEXT)
    ax.set_ylabel("query", fontsize=style.TEXT)
    if title:
        ax.set_title(title, fontsize=style.TEXT + 1, parse_math=False)
    if max(n_query, n_key) <= NUMBERS_UP_TO:
        _write_numbers(ax, weights)
    _colour_bar(fig, image, weights)


def heads(
    weights: Tensor,
    tokens: Sequence[str],
    keys: Sequence[str] | None = None,
    titles: Sequence[str] | None = None,
) -> None:
    """Draw all heads of a layer side by side, on one scale.

    ``weights`` is (head, query, key); leading axes of size 1 are dropped. ``titles`` replace
    "head 0", "head 1" … Raises ``ValueError`` as ``heat_map`` does.

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
    n_columns = min(n_heads, 4 if n_heads <= 16 else 8)
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
    fig.supxlabel("key", fontsize=style.TEXT)
    fig.supylabel("query", fontsize=style.TEXT)
    _colour_bar(fig, image, weights)


def layers_by_heads(weights: Tensor) -> None:
    """Draw every head of a model: a row of panels per layer, a column per head, on one scale.

    ``weights`` is (layer, head, query, key). In each panel queries run down and keys to the
    right. Raises ``ValueError`` for other shapes or weights outside [0, 1].

    >>> layers_by_heads(torch.eye(3).expand(2, 4, 3, 3))
    """
    weights = _checked(weights, ("layer", "head", "query", "key"))
    n_layers, n_heads, n_query, n_key = weights.shape
    width = min((style.WIDTH - 0.6 - BAR) / n_heads, 1.2)
    height = width * n_query / n_key
    fig = style.figure(width * n_heads + 0.6 + BAR, max((height + 0.03) * n_layers + 0.5, 1.8))
    fig.get_layout_engine().set(w_pad=0.01, h_pad=0.01, wspace=0.01, hspace=0.01)
    axs = fig.subplots(n_layers, n_heads, squeeze=False)
    every_head, every_layer = (max(1, -(-0.24 // size)) for size in (width, height))
    for layer, row in enumerate(axs):
        for head, ax in enumerate(row):
            image = _panel(ax, weights[layer, head])
            ax.set(xticks=[], yticks=[], box_aspect=height / width)
            if layer == 0 and head % every_head == 0:
                ax.set_title(str(head), fontsize=style.TEXT, pad=3)
        if layer % every_layer == 0:
            beside = {"rotation": 0, "ha": "right", "va": "center", "labelpad": 3}
            row[0].set_ylabel(str(layer), fontsize=style.TEXT, **beside)
    fig.suptitle("head", fontsize=style.TEXT)
    fig.supylabel("layer", fontsize=style.TEXT)
    _colour_bar(fig, image, weights)


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


def _colour_bar(fig: Any, image: Any, weights: Tensor) -> None:
    ticks = [0, 0.25, 0.5, 0.75, 1]
    bar = fig.colorbar(image, ax=fig.axes, ticks=ticks, aspect=25, pad=0.02)
    bar.ax.tick_params(labelsize=style.TEXT, length=2)
    bar.set_label(
        "weight (hatched: NaN)" if weights.isnan().any() else "weight", size=style.TEXT
    )
    bar.outline.set_edgecolor(style.FAINT)
