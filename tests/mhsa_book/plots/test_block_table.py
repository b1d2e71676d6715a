"""A block table has a line for every entry, and a page is filled as far as it is used."""

import pytest
from matplotlib.patches import Rectangle

from mhsa_book.models import serving
from mhsa_book.models.paged import PagedCache, Pool
from mhsa_book.plots.block_table import block_table
from tests.mhsa_book.models.small import small
from tests.mhsa_book.plots.figure import drawn


def test_lines_lead_to_pages_and_pages_are_filled():
    lm = small()
    pool, ids = Pool(lm, n_pages=8, size=4), lm.ids("the cat sat")[:9]
    first, second = PagedCache(pool), PagedCache(pool)
    serving.step(lm, [(first, ids)])
    second.find_prefix(ids)
    serving.step(lm, [(second, ids[8:])])
    block_table({"A": first, "B": second})
    (ax,) = drawn().axes
    assert len(ax.lines) == 6
    said = [text.get_text() for text in ax.texts]
    assert [each for each in said if each.startswith("×")] == ["×2", "×2"]
    rectangles = [p for p in ax.patches if isinstance(p, Rectangle)]
    outlines = [p for p in rectangles if not p.get_fill()]
    fills = [p for p in rectangles if p.get_alpha() == 0.75]
    shares = [f.get_width() / o.get_width() for f, o in zip(fills, outlines, strict=True)]
    assert shares == pytest.approx([1, 1, 0.25, 0.25, 0, 0, 0, 0])
    for line, page in zip(ax.lines, [*first.table, *second.table], strict=True):
        x, _ = line.get_xydata()[-1]
        assert outlines[page].get_x() < x < outlines[page].get_x() + outlines[page].get_width()


def test_requests_of_two_pools_are_refused():
    lm = small()
    caches = [PagedCache(Pool(lm, n_pages=2)) for _ in range(2)]
    with pytest.raises(ValueError, match="2 pools"):
        block_table(dict(zip("AB", caches, strict=True)))
    with pytest.raises(ValueError, match="0 requests"):
        block_table({})
