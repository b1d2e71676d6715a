"""The shape ledger of a trace as HTML: a colour per axis, a bar for the size of a tensor."""

from dataclasses import dataclass
from html import escape

from mhsa_lib.shapes import AXIS_COLOURS


@dataclass(frozen=True)
class Step:
    """How one wire came about: axes with sizes, strides, "view" or "copy", bytes and FLOPs.

    ``bytes`` is the size of the tensor itself; a view needs no new memory. ``flops`` counts
    the matrix products since the wire before it, a multiply-add as 2.
    """

    wire: str
    axes: dict[str, int | tuple[int, ...]]
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    result: str
    bytes: int
    flops: int

    @property
    def per_pair(self) -> bool:
        """Whether it has a number for every pair of a query and a key."""
        return {"query", "key"} <= self.axes.keys()


CELL = "padding:.15em .5em;text-align:left;white-space:nowrap;border:0;background:none"
NUMBER = CELL + ";text-align:right;font-variant-numeric:tabular-nums"
COLUMNS = {
    "wire": CELL,
    "axes": CELL,
    "result": CELL,
    "size": CELL,
    "bytes": NUMBER,
    "FLOPs": NUMBER,
    "stride": CELL,
}


def html(name: str, rows: list[Step]) -> str:
    """A table with a row per wire, readable without colour and by a screen reader."""
    largest = max((row.bytes for row in rows), default=0) or 1
    head = "".join(
        f'<th scope="col" style="{style}">{title}</th>' for title, style in COLUMNS.items()
    )
    body = "".join(_row(row, largest) for row in rows)
    caption = (
        f"Wires of {escape(name)}, in order of computation. Bars show bytes, the longest is "
        f"{short(largest)}; filled bars have both a query and a key axis. FLOPs are those of "
        "matrix products."
    )
    return (
        f'<div class="mhsa-ledger"><p style="margin:0 0 .3em">{caption}</p>'
        f'<div role="region" tabindex="0" aria-label="Wires of {escape(name)}" '
        'style="overflow-x:auto;max-width:100%">'
        '<table style="border-collapse:collapse;font-size:.85em;color:inherit;margin:0">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></div>"
    )


def short(number: int) -> str:
    """A count in at most four digits: exact below ten thousand, then k, M, G, T, P.

    >>> short(3456), short(33_554_432), short(1_073_741_824)
    ('3456', '33.6 M', '1.07 G')
    """
    if number < 10_000:
        return str(number)
    thousands = min((len(str(round(number * 1.0005))) - 1) // 3, 6)
    return f"{number / 1000**thousands:.3g} {' kMGTPE'[thousands]}"


def _row(row: Step, largest: int) -> str:
    chips = "".join(_chip(axis, size) for axis, size in row.axes.items())
    stride = ", ".join(map(str, row.stride))
    filled = "currentColor" if row.per_pair else "transparent"
    bar = (
        '<span aria-hidden="true" style="display:inline-block;height:.8em;min-width:1px;'
        f"width:{6 * row.bytes / largest:.3f}em;border:1px solid currentColor;"
        f'background:{filled};opacity:.7"></span>'
    )
    return (
        f'<tr><th scope="row" style="{CELL}"><code>{escape(row.wire)}</code></th>'
        f'<td style="{CELL}">{chips}</td><td style="{CELL}">{escape(row.result)}</td>'
        f'<td style="{CELL}">{bar}</td>'
        f'<td style="{NUMBER}">{short(row.bytes)}</td>'
        f'<td style="{NUMBER}">{short(row.flops)}</td>'
        f'<td style="{CELL}">({stride})</td></tr>'
    )


def _chip(axis: str, size: int | tuple[int, ...]) -> str:
    colour = AXIS_COLOURS.get(axis, "#6b6b6b")
    return (
        f'<span style="display:inline-block;margin:0 .2em .1em 0;padding:0 .4em;'
        f"border-radius:.3em;background:{colour};color:{_readable_on(colour)}"
        f'">{escape(axis)}&nbsp;{escape(str(size))}</span>'
    )


def _readable_on(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#000" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#fff"
