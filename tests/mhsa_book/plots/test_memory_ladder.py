"""The ladder: its bytes are those of the counting loop, its bars to one scale."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.patches import FancyBboxPatch, Rectangle

from mhsa_book.costs import tiles
from mhsa_book.plots.memory_ladder import LONGEST, MEMORIES, memory_ladder
from mhsa_lib.masks.structure import Band


@pytest.fixture
def ax():
    plt.close("all")
    memory_ladder(4096, 32, 128, 128)
    yield plt.gcf().axes[0]
    plt.close("all")


def test_every_memory_has_a_box_and_a_name(ax):
    assert len([p for p in ax.patches if isinstance(p, FancyBboxPatch)]) == len(MEMORIES)
    texts = [text.get_text() for text in ax.texts]
    assert all(name in texts and size in texts for name, size, _ in MEMORIES)


def test_no_box_is_narrower_than_one_that_holds_less(ax):
    registers, shared, cache, hbm = [
        p.get_width() for p in ax.patches if isinstance(p, FancyBboxPatch)
    ]
    assert registers == shared < cache < hbm


def test_the_bars_are_as_long_as_the_bytes(ax):
    bars = [p.get_width() for p in ax.patches if isinstance(p, Rectangle)]
    tables = 32 * 4 * 4096**2 * 2
    again = 32 * tiles.moved(4096, 128, 128, Band(ahead=0), itemsize=2).k_v
    once = 32 * 4 * 4096 * 128 * 2
    wanted = [LONGEST * n_bytes / tables for n_bytes in (again, once, tables)]
    assert sorted(bars) == pytest.approx(sorted(wanted))


def test_the_bytes_are_written_beside_them(ax):
    said = " ".join(text.get_text() for text in ax.texts)
    assert "1.1 GB" in said
    assert "134 MB" in said
    assert "4.3 GB" in said


def test_every_text_is_inside_the_picture(ax):
    fig = plt.gcf()
    fig.canvas.draw()
    for text in ax.texts:
        box = text.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= fig.bbox.width


def test_a_tile_that_does_not_divide_is_refused():
    with pytest.raises(ValueError, match="tile"):
        memory_ladder(4096, 32, 128, 100)
