"""From how much on something can be done: two sizes, a share in every square, a step line."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from mhsa_book.plots import style

Panel = tuple[str, str, Sequence[Sequence[float]]]
"""What is asked for, what there is of it, and the shares: a row for each number there is."""


def staircase(panels: Mapping[str, Panel]) -> None:
    """Draw shares over what is asked for and what there is, both from 1 on.

    Every panel has its name, the names of both axes, and a table of shares between 0 and 1:
    its first row is for 1 of what there is, its first column for 1 of what is asked for. The
    orange line divides enough, above it, from too few.

    Raises
    ------
    ValueError : without panels, for a table that is not square, and for a share outside 0 to 1

    Examples
    --------
    >>> staircase({"look-ups": ("questions", "heads", [[1.0, 0.5], [1.0, 1.0]])})
    """
    tables = {name: torch.tensor(shares) for name, (_, _, shares) in panels.items()}
    if not tables:
        raise ValueError("there is no panel to draw; give one at least.")
    for name, table in tables.items():
        if table.ndim != 2 or table.shape[0] != table.shape[1] or not len(table):
            raise ValueError(
                f"{name!r} has a table of shape {tuple(table.shape)}; give as many rows as "
                f"columns."
            )
        if not bool(((table >= 0) & (table <= 1)).all()):
            raise ValueError(f"{name!r} has shares outside 0 to 1: {table.tolist()}.")
    fig = style.figure(style.WIDTH, 3.9)
    axes = fig.subplots(1, len(panels), squeeze=False)[0]
    for ax, (name, (asked, there, _)) in zip(axes, panels.items(), strict=True):
        _squares(ax, tables[name])
        ax.set_title(name, fontsize=style.TEXT + 1, parse_math=False)
        ax.set_xlabel(asked, fontsize=style.TEXT, parse_math=False)
        ax.set_ylabel(there, fontsize=style.TEXT, parse_math=False)


def _squares(ax: Any, table: torch.Tensor) -> None:
    n = len(table)
    extent = {"origin": "lower", "extent": (0.5, n + 0.5, 0.5, n + 0.5)}
    ax.imshow(table.numpy(), cmap=style.WEIGHT_MAP, vmin=0, vmax=1, **extent)
    for there, row in enumerate(table.tolist(), start=1):
        for asked, share in enumerate(row, start=1):
            ink = style.PAPER if share > 0.56 else style.INK
            where = {"ha": "center", "va": "center", "fontsize": style.TEXT}
            ax.text(asked, there, f"{share:.2f}", color=ink, **where)
    corners = [i + 0.5 for i in range(n + 1) for _ in (0, 1)]
    line = {"color": style.SERIES[1], "linewidth": 3, "solid_joinstyle": "miter"}
    ax.plot(corners[1:-1], corners[:-2], **line)
    ax.set(xticks=range(1, n + 1), yticks=range(1, n + 1))
    ax.tick_params(labelsize=style.TEXT, length=2)
    for spine in ax.spines.values():
        spine.set_edgecolor(style.FAINT)
