"""On a phone nothing is cut without a sign, and words can be read."""

import pytest

from mhsa_book import widgets
from tests.mhsa_book.widgets.every_figure import MAKE, every_figure

PHONE = (
    339  # the width of a figure in the book on a phone of 390 pixels, and the test's margins
)
CUT = """() => [...document.querySelectorAll(".mhsa-figure :not(pre)")].filter((one) =>
  one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === "auto",
).map((one) => [
    one.className.split(" ")[0],
    one.tabIndex === 0 || one.querySelector("[tabindex='0']") !== null,
    one.role, one.ariaLabel,
    getComputedStyle(one).backgroundImage.includes("gradient")])"""


@every_figure
def test_nothing_is_cut_on_a_phone_without_a_sign(open_figure, name):
    page = open_figure(MAKE[name](), width=PHONE)
    cut = page.evaluate(CUT)
    for element, tab, role, label, hint in cut:
        assert (element, tab, role, hint) == ("mhsa-scroll", True, "group", True)
        assert label


@pytest.mark.parametrize(
    "make",
    [
        widgets.OutputSum,
        lambda: widgets.ShapeTracer(d_model=768, n_heads=12, seq=2048),
        lambda: widgets.HeadBudget(n_heads=32),
        widgets.CacheCalculator,
    ],
)
def test_what_a_chapter_asks_about_fits_a_phone(open_figure, make):
    assert open_figure(make(), width=PHONE).evaluate(CUT) == []


def test_words_in_a_drawing_can_be_read_on_a_phone(open_figure):
    page = open_figure(widgets.OutputSum(), width=PHONE)
    heights = page.locator(".mhsa-scroll svg text").evaluate_all(
        """all => all.map((one) => {
             const { a, b } = one.getScreenCTM(); // upright words have no a
             return Math.hypot(a, b) * parseFloat(getComputedStyle(one).fontSize);
           })"""
    )
    assert min(heights) >= 9
