"""Every picture is one figure that stays readable."""

import pytest
from matplotlib.colors import to_hex

from tests.mhsa_book.plots.figure import drawn, tick_labels, words
from tests.mhsa_book.plots.pictures import PICTURES

pictures = pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)


@pictures
def test_a_call_draws_one_readable_figure_and_leaves_nothing_for_the_cell_to_print(draw):
    assert draw() is None
    fig = drawn()
    assert fig.get_figwidth() <= 8
    assert to_hex(fig.get_facecolor()) == "#ffffff"
    assert min(text.get_fontsize() for text in words(fig)) >= 9
    page = fig.bbox.padded(1)
    for text in set(words(fig)) - tick_labels(fig):
        (left, bottom), (right, top) = text.get_window_extent().get_points()
        assert page.contains(left, bottom), text
        assert page.contains(right, top), text
