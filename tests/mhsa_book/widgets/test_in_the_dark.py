"""In the dark a large weight stands out, and a small one is near the colour of the page."""

import io

import matplotlib.image
import pytest

from mhsa_book.widgets import HeadExplorer, MaskLab


def lightness(element):
    """How light an element looks on the screen, from 0 to 1."""
    picture = matplotlib.image.imread(io.BytesIO(element.screenshot()))
    return float(picture[..., :3].mean())


@pytest.mark.parametrize(("theme", "small_is_lighter"), [("light", True), ("dark", False)])
def test_the_cells_of_a_table_of_weights_follow_the_page(open_figure, theme, small_is_lighter):
    page = open_figure(MaskLab(), theme=theme)
    cells = page.locator(".mhsa-grid td[style*=filter]")
    large, small = (cells.filter(has_text=text).first for text in ("1.00", "0.00"))
    assert (lightness(small) > lightness(large)) == small_is_lighter


@pytest.mark.parametrize(("theme", "lightest"), [("light", True), ("dark", False)])
def test_a_map_that_is_mostly_empty_looks_like_the_page(open_figure, theme, lightest):
    page = open_figure(HeadExplorer(), theme=theme)
    assert (lightness(page.locator("canvas").first) > 0.5) == lightest
