"""Block tables as rows of page numbers, and the pool of pages that they point into."""

from collections.abc import Mapping
from typing import Any

from matplotlib.patches import Rectangle

from mhsa_book.models.paged import PagedCache
from mhsa_book.plots import style

GAP = 0.55
"""Width between two tables, in boxes."""

HIGH, APART = 0.42, 1.3
"""Inches of a page in the pool, and from the tables down to it."""

TALL = 2.95
"""Inches of the picture."""


def block_table(requests: Mapping[str, PagedCache]) -> None:
    """Draw the block tables of up to five requests, and lines to their pages in the pool.

    A page is coloured up to its last slot in use, in the colour of the request that reads it,
    or in grey with the number of its readers where there are several. Raises ``ValueError``
    for no or more requests, and for those of several pools.

    >>> from mhsa_book import models
    >>> from mhsa_book.models import paged, serving
    >>> lm = models.load("SmolLM2-135M")
    >>> cache = paged.PagedCache(paged.Pool(lm, n_pages=6, size=4))
    >>> logits = serving.step(lm, [(cache, lm.ids("The capital of France is"))])
    >>> block_table({"A": cache})
    """
    pools = {id(cache.pool): cache.pool for cache in requests.values()}
    if not 1 <= len(requests) <= 5 or len(pools) != 1:
        raise ValueError(
            f"{len(requests)} requests of {len(pools)} pools; draw 1 to 5 requests of one pool."
        )
    (pool,) = pools.values()
    n_boxes = sum(len(cache.table) for cache in requests.values()) + GAP * (len(requests) - 1)
    fig = style.figure(style.WIDTH, TALL)
    fig.set_layout_engine("none")
    ax = fig.add_axes((0, 0, 1, 1), xlim=(0, style.WIDTH), ylim=(0, TALL))
    ax.axis("off")
    margin, low = 0.1, 0.5
    width = (style.WIDTH - 2 * margin) / len(pool.uses)
    side = min((style.WIDTH - 2 * margin) / n_boxes, 0.42)
    left = (style.WIDTH - side * n_boxes) / 2
    top = low + HIGH + APART
    filled = [0.0] * len(pool.uses)
    owner = [style.PAPER] * len(pool.uses)
    for (name, cache), colour in zip(requests.items(), style.SERIES, strict=False):
        middle = left + side * len(cache.table) / 2
        _text(ax, middle, top + side + 0.14, name)
        for i, page in enumerate(cache.table):
            n_slots = min(cache.n_tokens - i * pool.size, pool.size)
            filled[page] = max(filled[page], n_slots / pool.size)
            owner[page] = colour if pool.uses[page] == 1 else "#b8b8b8"
            box = Rectangle((left, top), side, side, facecolor=style.PAPER, edgecolor=colour)
            ax.add_patch(box)
            box.set_linewidth(1.8)
            _text(ax, left + side / 2, top + side / 2, str(page))
            ends = [left + side / 2, margin + width * (page + 0.5)], [top, low + HIGH]
            ax.plot(*ends, color=colour, linewidth=1.3)
            left += side
        left += side * GAP
    for page, share in enumerate(filled):
        x = margin + width * page
        inside: Any = {"facecolor": owner[page], "edgecolor": "none", "alpha": 0.75}
        ax.add_patch(Rectangle((x, low), width * share, HIGH, **inside))
        ax.add_patch(Rectangle((x, low), width, HIGH, fill=False, edgecolor=style.INK))
        _text(ax, x + width / 2, low + HIGH / 2, str(page))
        if pool.uses[page] > 1:
            _text(ax, x + width / 2, low - 0.16, f"×{pool.uses[page]}")
    _text(ax, style.WIDTH / 2, 0.12, f"pool: pages of {pool.size} tokens, with all layers")


def _text(ax: Any, x: float, y: float, said: str) -> None:
    look = {"fontsize": style.TEXT, "color": style.INK, "parse_math": False}
    ax.text(x, y, said, ha="center", va="center", **look)
