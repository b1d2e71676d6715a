"""The four memories of a GPU as a ladder, and what a fused kernel moves between them."""

from typing import Any

from matplotlib.patches import FancyBboxPatch, Rectangle

from mhsa_book.costs import tiles
from mhsa_book.plots import style
from mhsa_lib.masks.structure import Band

MULTIPROCESSORS = 132
"""Of an H100 or H200 SXM. Each has its own shared memory and its own registers."""

MEMORIES = (
    ("registers", f"256 KB on each of {MULTIPROCESSORS} SMs", 2.5),
    ("shared memory (SRAM)", f"228 KB on each of {MULTIPROCESSORS} SMs", 2.5),
    ("L2 cache", "50 MB for all of them", 3.0),
    ("HBM, the GPU's memory", "141 GB, 4.8 TB/s", 3.5),
)
"""Name, size, and inches of its box. Sources: NVIDIA's Hopper Tuning Guide, H200 data sheet.

Registers and shared memory are about as large, so their boxes are equally wide.
"""

LEFT, RIGHT, HIGH, GAP = 1.9, 3.85, 0.62, 0.62
"""Inches: the middle of the boxes, words beside them, a box, and from one to the next."""

LONGEST = 3.6
"""Inches of the bar of the five stages; the others are drawn to the same scale."""


def memory_ladder(n: int, n_heads: int, d_head: int, tile: int, *, itemsize: int = 2) -> None:
    """Draw what causal attention of one sequence moves, kernel and written out, rung by rung.

    The bytes are counted, not measured (`mhsa_book.costs.tiles`): q, k, v and z once between
    HBM and L2; between L2 and shared memory keys and values once for every tile of ``tile``
    queries that needs them. Raises ``ValueError`` where ``tile`` does not divide ``n``.

    >>> memory_ladder(4096, 32, 128, 128)
    """
    loop = tiles.moved(n, d_head, tile, Band(ahead=0), itemsize=itemsize)
    once = n_heads * 4 * n * d_head * itemsize
    again = n_heads * loop.k_v
    tables = n_heads * tiles.five_stages(n, d_head, itemsize=itemsize).tables
    between = (
        ("tiles go to the tensor cores", 0, style.INK),
        (f"k and v, again for each tile of queries: {_size(again)}", again, style.SERIES[0]),
        (f"q, k, v up and z down, at best once: {_size(once)}", once, style.SERIES[0]),
    )
    height = len(MEMORIES) * (HIGH + GAP) - GAP + 0.3
    fig = style.figure(style.WIDTH, height)
    fig.set_layout_engine("none")
    ax = fig.add_axes((0, 0, 1, 1), xlim=(0, style.WIDTH), ylim=(height, 0))
    ax.axis("off")
    for i, (name, size, width) in enumerate(MEMORIES):
        top = 0.15 + i * (HIGH + GAP)
        box = FancyBboxPatch(
            (LEFT - width / 2, top),
            width,
            HIGH,
            boxstyle="round,pad=0,rounding_size=0.08",
            facecolor=style.WEIGHT_MAP(0.1 * (4 - i)),
            edgecolor=style.INK,
        )
        ax.add_patch(box)
        _text(ax, LEFT, top + 0.21, name, ha="center", weight="bold")
        _text(ax, LEFT, top + 0.43, size, ha="center")
        if i < len(between):
            said, n_bytes, colour = between[i]
            _arrow(ax, LEFT, top + HIGH, top + HIGH + GAP)
            _bar(ax, LEFT + 0.25, top + HIGH + GAP / 2, n_bytes / tables, colour, said)
    stays = "scores and weights of a tile, largest, total:\nmade here, used here, never written"
    _text(ax, RIGHT, 0.15 + HIGH / 2, stays)
    level = 0.15 + 3 * (HIGH + GAP) + HIGH / 2
    said = f"the five stages: scores, weights,\nout and in: {_size(tables)}"
    _bar(ax, RIGHT, level, 1.0, style.SERIES[5], said, hatch="//")


def _size(n_bytes: int) -> str:
    mega = n_bytes / 1e6
    return f"{mega / 1000:.1f} GB" if mega >= 1000 else f"{mega:.0f} MB"


def _text(ax: Any, x: float, y: float, text: str, ha: str = "left", **look: Any) -> None:
    ax.text(x, y, text, ha=ha, va="center", fontsize=style.TEXT, color=style.INK, **look)


def _bar(
    ax: Any, x: float, y: float, share: float, colour: str, text: str, hatch: str = ""
) -> None:
    """A sentence, and under it a bar as long as its share of what the five stages move."""
    lines = 1 + text.count("\n")
    _text(ax, x, y - 0.08 * lines, text)
    if share:
        under, wide = y + 0.03 + 0.05 * lines, share * LONGEST
        ax.add_patch(Rectangle((x, under), wide, 0.12, fc=colour, hatch=hatch, ec=style.INK))


def _arrow(ax: Any, x: float, top: float, bottom: float) -> None:
    look = {"arrowstyle": "<|-|>", "color": style.INK, "linewidth": 1.2}
    ax.annotate("", (x, top), (x, bottom), arrowprops=look)
