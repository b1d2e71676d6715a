"""It is accessible, and fits every width and theme."""

import pytest

from mhsa_book.widgets import HeadExplorer
from tests.mhsa_book.widgets.head_explorer.random_heads import WORDS, explorer, weights
from tests.mhsa_book.widgets.head_explorer.reader import table
from tests.pages.test_axe import AXE

EXTENTS = "(all) => all.map((button) => [button.offsetWidth, button.offsetHeight])"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_is_accessible_and_never_wider_than_the_page(open_figure, theme, width):
    figure = HeadExplorer(
        weights(2, 12, 6, 6), WORDS, compared=[1, 1], sort="entropy", hidden=["cat"]
    )
    page = open_figure(figure, width=width, theme=theme)
    page.locator("summary").evaluate_all(
        "all => all.forEach(s => { s.parentNode.open = true })"
    )
    table(page)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run('main', { resultTypes: ['violations'] })")["violations"]
    assert [(v["id"], [n["html"] for n in v["nodes"]]) for v in found] == []
    for sort, view in (("layer", "heat map"), ("own", "lines")):
        page.get_by_label("sort").select_option(sort)
        page.get_by_label("draw as").select_option(view)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        sizes = page.locator(".mhsa-head").evaluate_all(EXTENTS)
        assert min(min(size) for size in sizes) >= 24


def test_twelve_heads_of_a_layer_are_in_sight_on_a_phone(open_figure):
    page = open_figure(HeadExplorer(weights(12, 12, 6, 6), WORDS), width=339)  # as in the book
    heads = page.locator(".mhsa-heads")
    assert heads.evaluate("one => one.scrollWidth - one.clientWidth") == 0
    sizes = page.locator(".mhsa-head").evaluate_all(EXTENTS)
    assert min(min(size) for size in sizes) >= 24
    assert page.evaluate("document.documentElement.scrollWidth") == 339
    page.set_viewport_size({"width": 300, "height": 900})  # here they do not fit
    assert heads.evaluate("one => one.scrollWidth > one.clientWidth")
    assert "gradient" in heads.evaluate("one => getComputedStyle(one).backgroundImage")


def test_it_follows_the_width_of_its_place(open_figure):
    page = open_figure(explorer(), width=1000)
    wide = page.locator(".mhsa-map").first.bounding_box()["width"]
    page.set_viewport_size({"width": 320, "height": 900})
    page.wait_for_timeout(300)
    assert page.locator(".mhsa-map").first.bounding_box()["width"] < wide
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
