"""Which head wrote this number: W_O as a sum over heads."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_book.plots import style

HATCHES = ("", "///", "...", "xxx", "\\\\\\", "ooo", "---", "|||", "+++", "***", "OO", "/o")

BIAS = "#d0d0d0"


def contributions(
    z: Tensor,
    W_O: nn.Linear,
    position: int = -1,
    coordinates: Sequence[int] | None = None,
    columns: Sequence[str] | None = None,
) -> None:
    """Draw what each head adds to the output of one token, coordinate by coordinate.

    ``z`` is the wire (head, query, d_head); leading axes of size 1 are dropped. The bars of a
    coordinate add up to ``y[position, coordinate]``, the diamond; a bias counts as one more
    part. Without ``coordinates`` the first eight are drawn. ``columns`` names all coordinates
    of y. Raises ``ValueError`` if ``z``, ``W_O`` and the names do not fit, or there is no such
    position or coordinate.

    >>> contributions(torch.ones(3, 6, 4), nn.Linear(12, 12, bias=False))
    """
    z, position, coordinates = _checked(z, W_O, position, coordinates)
    if columns is not None and len(columns) != W_O.out_features:
        raise ValueError(
            f"W_O has {W_O.out_features} columns but there are {len(columns)} names."
        )
    parts = _parts(z[:, position], W_O)
    fig = style.figure(max(0.8 * len(coordinates) + 2.2, 4.2), 3.8)
    ax = fig.add_subplot()
    above, below = torch.zeros(2, len(coordinates), dtype=torch.float64)
    for i, (name, part) in enumerate(parts.items()):
        heights = part[list(coordinates)]
        start = torch.where(heights >= 0, above, below)
        ax.bar(
            range(len(coordinates)),
            heights.tolist(),
            bottom=start.tolist(),
            label=name,
            color=BIAS if name == "bias" else style.SERIES[i % len(style.SERIES)],
            hatch="" if name == "bias" else HATCHES[i % len(HATCHES)],
            edgecolor=style.INK,
            linewidth=0.6,
            width=0.7,
        )
        above, below = above + heights.clamp(min=0), below + heights.clamp(max=0)
    total = torch.stack(list(parts.values())).sum(dim=0)[list(coordinates)]
    ax.plot(
        range(len(coordinates)),
        total.tolist(),
        linestyle="",
        marker="D",
        markersize=7,
        color=style.PAPER,
        markeredgecolor=style.INK,
        markeredgewidth=1.5,
        label="sum: y",
    )
    labels = [str(c) if columns is None else columns[c] for c in coordinates]
    _finish(ax, position, labels)


def _parts(z: Tensor, W_O: nn.Linear) -> dict[str, Tensor]:
    """What each head, and the bias, adds to all coordinates of one token's output."""
    per_head = W_O.weight.detach().cpu().double().unflatten(1, z.shape)
    added = torch.einsum("mhd,hd->hm", per_head, z)
    parts = {f"head {i}": part for i, part in enumerate(added)}
    return parts if W_O.bias is None else parts | {"bias": W_O.bias.detach().cpu().double()}


def one_sequence(z: Tensor, W_O: nn.Linear) -> Tensor:
    """Drop leading axes of size 1 from ``z``: (head, query, d_head) in float64 on the CPU.

    Raises ``ValueError`` if other axes are left, or if ``W_O`` takes another number of columns.
    """
    given = tuple(z.shape)
    if z.ndim > 3 and all(size == 1 for size in given[:-3]):
        z = z.reshape(given[-3:])
    if z.ndim != 3:
        repair = "choose a sequence, for example z[0]" if z.ndim > 3 else "an axis is missing"
        raise ValueError(f"z {given} is not (head, query, d_head); {repair}.")
    n_heads, _, d_head = z.shape
    d_heads = W_O.in_features
    if n_heads * d_head != d_heads:
        raise ValueError(
            f"z {given} has {n_heads} heads of {d_head} columns, {n_heads * d_head} in all, "
            f"but W_O takes {d_heads}; both must come from one attention."
        )
    return z.detach().cpu().double()


def _checked(
    z: Tensor, W_O: nn.Linear, position: int, coordinates: Sequence[int] | None
) -> tuple[Tensor, int, Sequence[int]]:
    z = one_sequence(z, W_O)
    n_query, d_model = z.shape[1], W_O.out_features
    if not -n_query <= position < n_query:
        raise ValueError(f"position={position} does not exist; there are {n_query} queries.")
    coordinates = range(min(d_model, 8)) if coordinates is None else coordinates
    wrong = [c for c in coordinates if not 0 <= c < d_model]
    if wrong or not len(coordinates):
        raise ValueError(f"coordinates {list(coordinates)} must lie in 0 to {d_model - 1}.")
    return z, position % n_query, coordinates


def _finish(ax: Any, position: int, labels: Sequence[str]) -> None:
    ax.axhline(0, color=style.INK, linewidth=0.8)
    upright = 90 if max(map(len, labels)) > 3 else 0
    ax.set_xticks(range(len(labels)), labels, rotation=upright, parse_math=False)
    ax.set_xlabel("coordinate of y", fontsize=style.TEXT)
    ax.set_ylabel(f"added to y at position {position}", fontsize=style.TEXT)
    ax.tick_params(labelsize=style.TEXT)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        fontsize=style.TEXT,
        frameon=False,
        handleheight=1.4,
        handlelength=2.4,
    )
