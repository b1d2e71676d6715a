"""A trace as plain HTML: a table of its wires, and a map of weights for every head."""

from dataclasses import dataclass
from html import escape

from torch import Tensor

from mhsa_lib.shapes import AXIS_COLOURS
from mhsa_lib.tracing.op_recorder import Op, in_brackets


@dataclass(frozen=True)
class Step(Op):
    """How a wire was computed: its axes with their sizes, and ``flops`` since the one before.

    ``bytes`` is the size of the tensor itself; a view needs no new memory. ``sources`` are the
    wires and inputs that it was made from.
    """

    axes: dict[str, int | tuple[int, ...]]
    sources: tuple[str, ...] = ()


# Inline, so that a trace draws itself in every notebook without a stylesheet or a script. Text
# and lines take the colour of the page, so it can be read in dark and in light.
CELL = "padding:.15em .5em;text-align:left;border:0;background:none"
WORD = CELL + ";white-space:nowrap"
NUMBER = WORD + ";text-align:right;font-variant-numeric:tabular-nums"
MOST_TOKENS, MOST_HEADS = 16, 8
"""Queries, keys and heads of a map that is drawn; of larger ones the first."""
STYLES = {
    **dict.fromkeys(("wire", "axes", "result"), WORD),
    **dict.fromkeys(("bytes", "FLOPs"), NUMBER),
    "stride": WORD,
}
"""The style of every column of the table, by its title."""


def table(name: str, rows: list[Step]) -> str:
    """Return a table with a row per wire, for readers without colour and screen readers too."""
    head = "".join(f'<th scope="col" style="{STYLES[title]}">{title}</th>' for title in STYLES)
    return (
        f'<div class="mhsa-ledger"><p style="margin:0 0 .3em">Wires of {escape(name)}, in '
        "order of computation. FLOPs are those of matrix products.</p>"
        f'<div role="region" tabindex="0" aria-label="Wires of {escape(name)}" '
        'style="overflow-x:auto;max-width:100%">'
        '<table style="border-collapse:collapse;font-size:.85em;color:inherit;margin:0">'
        f"<thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(_row(row) for row in rows)}</tbody></table></div></div>"
    )


def _row(row: Step) -> str:
    cells = {
        "axes": "".join(_chip(axis, size) for axis, size in row.axes.items()),
        "result": row.result,
        "bytes": short(row.bytes),
        "FLOPs": short(row.flops),
        "stride": in_brackets(row.stride),
    }
    # The row's heading is its wire, which a screen reader says with every cell.
    heading = f'<th scope="row" style="{WORD}"><code>{escape(row.name)}</code></th>'
    data = "".join(f'<td style="{STYLES[title]}">{cell}</td>' for title, cell in cells.items())
    return f"<tr>{heading}{data}</tr>"


def _chip(axis: str, size: int | tuple[int, ...]) -> str:
    colour = AXIS_COLOURS.get(axis, "#6b6b6b")
    red, green, blue = bytes.fromhex(colour[1:])
    # The eye sees most of green and least of blue: the luma of a television signal, up to 255.
    text = "#000" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#fff"
    return (
        '<span style="display:inline-block;margin:0 .2em .1em 0;padding:0 .4em;'
        f'border-radius:.3em;background:{colour};color:{text}">'
        f"{escape(axis)}&nbsp;{size}</span>"
    )


def maps(weights: Tensor) -> str:
    """Return a square for every head of (…, head, query, key), with a cell for every weight.

    Of several sequences the first is drawn, of many tokens or heads the first ones, and a note
    says so.

    >>> import torch
    >>> maps(torch.eye(2)[None]).count("<rect")
    2
    """
    if weights.is_meta or not weights.numel():
        return ""
    sequences = weights.detach().reshape(-1, *weights.shape[-3:])
    most = {"sequences": 1, "heads": MOST_HEADS, "queries": MOST_TOKENS, "keys": MOST_TOKENS}
    notes = [
        f"the first {most[axis]} of {n} {axis}"
        for axis, n in zip(most, sequences.shape, strict=True)
        if n > most[axis]
    ]
    note = f" Shown: {', '.join(notes)}." if notes else ""
    shown = sequences[0, :MOST_HEADS, :MOST_TOKENS, :MOST_TOKENS].tolist()
    figures = "".join(_map(head, i, sequences.shape[1]) for i, head in enumerate(shown))
    return (
        '<div class="mhsa-maps"><p style="margin:.6em 0 .3em">Weights of each head: rows are '
        f"queries, columns are keys, clear is 0 and solid is 1.{note}</p>"
        f'<div style="display:flex;flex-wrap:wrap;gap:.8em">{figures}</div></div>'
    )


def _map(rows: list[list[float]], head: int, n_head: int) -> str:
    cells = "".join(
        f'<rect x="{j}" y="{i}" width="1" height="1" fill-opacity="{level / 100:g}"/>'
        for i, row in enumerate(rows)
        for j, weight in enumerate(row)
        # Rounding up from .4 on is far from fractions such as 1/2, 1/3, 3/16 and 1/7, so that
        # a last digit that differs between machines does not change the picture.
        if weight == weight and (level := int(min(max(weight, 0.0), 1.0) * 100 + 0.6))
    )
    width, height = len(rows[0]), len(rows)
    # One size a cell, so that maps of different numbers of tokens can be compared.
    return (
        f'<figure style="margin:0"><svg role="img" aria-label="Head {head} of {n_head}, '
        f'numbered from 0: weights of {height} queries, one a row, on {width} keys" '
        f'viewBox="0 0 {width} {height}" width="{width * 0.7:g}em" height="{height * 0.7:g}em" '
        'fill="currentColor" shape-rendering="crispEdges" '
        f'style="display:block;outline:1px solid currentColor">{cells}</svg>'
        f'<figcaption style="font-size:.85em;color:inherit">head {head}</figcaption></figure>'
    )


def short(number: int) -> str:
    """Return a count in at most four digits: exact below ten thousand, then k, M, G, T, P.

    >>> short(3456), short(33_554_432), short(1_073_741_824)
    ('3456', '33.6 M', '1.07 G')
    """
    if number < 10_000:
        return str(number)
    # 999,500 and more round up to four digits, so they already take the next unit.
    thousands = min((len(str(round(number * 1.0005))) - 1) // 3, 6)
    return f"{number / 1000**thousands:.3g} {' kMGTPE'[thousands]}"
