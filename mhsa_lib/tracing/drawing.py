"""A trace as a table in plain HTML."""

from dataclasses import dataclass
from html import escape

from mhsa_lib.shapes import AXIS_COLOURS
from mhsa_lib.tracing.op_recorder import Op, in_brackets


@dataclass(frozen=True)
class Step(Op):
    """How a wire was computed: its axes with their sizes, and ``flops`` since the one before.

    ``bytes`` is the size of the tensor itself; a view needs no new memory.
    """

    axes: dict[str, int | tuple[int, ...]]


# Inline, so that a trace draws itself in every notebook without a stylesheet or a script. Text
# and lines take the colour of the page, so it can be read in dark and in light.
CELL = "padding:.15em .5em;text-align:left;border:0;background:none"
WORD = CELL + ";white-space:nowrap"
NUMBER = WORD + ";text-align:right;font-variant-numeric:tabular-nums"
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
    return (
        '<span style="display:inline-block;margin:0 .2em .1em 0;padding:0 .4em;'
        f'border-radius:.3em;background:{colour};color:{_readable_on(colour)}">'
        f"{escape(axis)}&nbsp;{size}</span>"
    )


def _readable_on(colour: str) -> str:
    red, green, blue = bytes.fromhex(colour[1:])
    # The eye sees most of green and least of blue: the luma of a television signal, up to 255.
    return "#000" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#fff"


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
