"""Tables of numbers of both signs, on one scale that is white at zero."""

from collections.abc import Sequence
from typing import Any, SupportsFloat

from matplotlib.colors import LinearSegmentedColormap
from torch import Tensor

from mhsa_book.plots import style

SIGNED_MAP = LinearSegmentedColormap.from_list(
    "signed", ["#8a3a00", "#d9752b", "#f6c59b", "#ffffff", "#9ccbe8", "#2d82b8", "#0b3a63"]
)
"""Brown below zero, white at it, blue above; the sign always stands in the cell as well."""

BAR, GAP = 0.9, 0.15
"""Inches for the colour bar with its numbers, and between two tables."""


def signed(
    tables: Tensor,
    rows: Sequence[str],
    columns: Sequence[str],
    titles: Sequence[str],
    label: str = "composed weight",
    axes: tuple[str, str] = ("key", "query"),
    limit: SupportsFloat | None = None,
) -> None:
    """Draw tables side by side, with the numbers in their cells, or at least their sign.

    ``tables`` is (table, row, column). ``label`` names the numbers, ``axes`` what the columns
    and the rows are. Colours go from -limit to limit, which several pictures may share; without
    it, to the largest number there is. Raises ``ValueError`` if names and shape disagree, or a
    number is not finite or beyond the limit.

    >>> import torch
    >>> signed(torch.tensor([[[0.5, -0.2], [1.5, 0.0]]]), ["a", "b"], ["x", "y"], ["head 0"])
    """
    tables = tables.detach().double().cpu()
    wanted = len(titles), len(rows), len(columns)
    if tuple(tables.shape) != wanted:
        raise ValueError(
            f"tables {tuple(tables.shape)} are not (table, row, column) = {wanted}; "
            f"name every table, row and column."
        )
    if not tables.numel() or not tables.isfinite().all():
        raise ValueError("tables are empty or hold a NaN or an infinity; draw finite numbers.")
    most = max(float(tables.abs().max()), 1e-12)
    left, top = style.text_width(rows), most if limit is None else float(limit)
    if not top >= most - 1e-9:
        raise ValueError(f"limit={top:g} is below the largest number, {most:g}; raise it.")
    cell = min(0.55, (style.WIDTH - left - BAR - GAP * len(titles)) / (wanted[0] * wanted[2]))
    height = max(cell, 0.26) * len(rows)
    fig = style.figure(
        left + (cell * len(columns) + GAP) * len(titles) + BAR,
        height + style.rotated_height(columns, cell * len(columns)) + 0.55,
    )
    for i, (title, table) in enumerate(zip(titles, tables, strict=True)):
        ax = fig.add_subplot(1, len(titles), i + 1)
        image = ax.imshow(table.numpy(), cmap=SIGNED_MAP, vmin=-top, vmax=top, aspect="auto")
        ax.set_title(title, fontsize=style.TEXT, parse_math=False)
        _name(ax, rows if i == 0 else [""] * len(rows), columns, cell * len(columns))
        _write(ax, table, top, numbers=cell >= 0.34)
    fig.supxlabel(axes[0], fontsize=style.TEXT)
    fig.supylabel(axes[1], fontsize=style.TEXT)
    bar = fig.colorbar(image, ax=fig.axes, aspect=25, pad=0.02)
    bar.ax.tick_params(labelsize=style.TEXT, length=2)
    bar.set_label(label, size=style.TEXT)


def _name(ax: Any, rows: Sequence[str], columns: Sequence[str], width: float) -> None:
    names = [style.label(column) for column in columns]
    turned = 0 if style.upright(columns, width) else 90
    text: dict[str, Any] = {"fontsize": style.TEXT, "parse_math": False}
    ax.set_xticks(range(len(columns)), names, rotation=turned, **text)
    ax.set_yticks(range(len(rows)), [style.label(row) for row in rows], **text)
    ax.tick_params(length=0)


def _write(ax: Any, table: Tensor, top: float, *, numbers: bool) -> None:
    for y, row in enumerate(table.tolist()):
        for x, value in enumerate(row):
            text = _short(value) if numbers else "−" * (value < 0)
            ink = style.PAPER if abs(value) > 0.55 * top else style.INK
            ax.text(x, y, text, color=ink, ha="center", va="center", fontsize=style.TEXT)


def _short(value: float) -> str:
    text = f"{value:.0f}" if abs(value) >= 10 else f"{value:.1f}" if value else "0"
    return text.replace("-", "−").replace("−0.0", "0.0")
