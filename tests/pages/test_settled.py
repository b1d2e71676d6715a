"""Nothing moves while a page comes, and what a shared page says of itself is on every page."""

import pytest

from mhsa_lib.shapes import AXIS_COLOURS
from tests.pages.test_kept import opened
from tools.check.browser import DESKTOP, PHONE

ALIKE = [pytest.param(name, marks=pytest.mark.slow) for name in ("03_project", "08_w_o")]
MOST = 0.1  # of layout shift: what is called good
SHIFTED = """() => new Promise((done) => {
  let moved = 0;
  const watch = (list) => list.getEntries().forEach((one) => { moved += one.value; });
  new PerformanceObserver(watch).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(moved), 1500);
})"""


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("notebook", [*ALIKE, "05_attend", "14_how_many_heads"])
def test_a_page_does_not_move_while_it_comes(chromium, address, size, notebook, say):
    context = chromium.new_context(viewport=size)
    tab = context.new_page()
    tab.goto(f"{address}/notebooks/{notebook}.html", wait_until="load")
    moved = tab.evaluate(SHIFTED)
    shown = tab.evaluate("getComputedStyle(document.body).visibility")
    context.close()
    say("Layout shift", [f"{moved:.3f} {notebook} at {size['width']}, {address[:4]}"])
    assert moved < MOST
    assert shown == "visible"


WIDTHS = """() => [...document.querySelectorAll("article p")].map((one) => {
  const range = document.createRange();
  range.selectNodeContents(one);
  return [...range.getClientRects()].map((line) => Math.round(line.width));
})"""


@pytest.mark.parametrize("letters", ["serif", "italic"])
def test_letters_that_come_late_wait_for_the_next_page(chromium, served, letters):
    """Also when a style sheet with letters of its own is added later, as MathJax adds one."""
    context = chromium.new_context(viewport=PHONE)
    tab = context.new_page()

    def when_shown(route):
        tab.wait_for_function("performance.getEntriesByType('paint').length > 1")
        route.continue_()

    tab.route(f"**/{letters}.woff2", when_shown)
    with tab.expect_event("requestfinished", lambda one: f"{letters}.woff2" in one.url):
        tab.goto(f"{served}/notebooks/08_w_o.html", wait_until="load")
    tab.evaluate("MathJax.startup.promise")
    before = tab.evaluate(WIDTHS)
    tab.add_style_tag(content="@font-face { font-family: Other; src: local(Other); }")
    tab.wait_for_timeout(500)
    after = tab.evaluate(WIDTHS)
    context.close()
    assert after == before


def test_mathjax_comes_only_where_there_is_a_formula(pages):
    loads = {
        page.name: any("mathjax" in str(script.get("src")) for script in page.soup("script"))
        for page in pages.values()
    }
    needs = {
        page.name: page.soup.select_one("article :is(.math, .output.text_latex)") is not None
        for page in pages.values()
        if page.soup.select_one("article")
    }
    assert {name for name in needs if needs[name] and not loads[name]} == set()
    assert {name for name in needs if loads[name] and not needs[name]} == set()
    assert {*needs.values()} == {True, False}


def test_every_picture_of_a_page_says_how_large_it_is(pages):
    pictures = [i for page in pages.values() for i in page.soup.select('img[src*="_images/"]')]
    png = [image for image in pictures if image["src"].endswith(".png")]
    assert png
    assert [image["src"] for image in png if not image.get("width")] == []


def test_the_colours_of_the_axes_stand_beside_every_chapter(chapters):
    for page in chapters:
        items = page.soup.select(".bd-sidebar-secondary .book-axes li")
        shown = {
            one.get_text(strip=True): one.span["style"].partition(": ")[2] for one in items
        }
        assert shown == {name: AXIS_COLOURS[name] for name in shown}
        assert {"query", "key", "head", "d_head"} <= set(shown)


def test_the_notation_shows_the_colours_that_the_pictures_have(pages):
    page = next(page for page in pages.values() if page.name == "book/notation.html")
    for row in page.soup.select("tr:has(.book-swatch)"):
        names = row.td.get_text().split(", ")
        colours = [one["style"].partition(": ")[2] for one in row.select(".book-swatch")]
        assert colours == [AXIS_COLOURS[name.strip()] for name in names]


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_legend_lies_under_the_contents(tab, served, size):
    tab.set_viewport_size(size)
    opened(tab, f"{served}/notebooks/05_attend.html")
    if size == PHONE:
        tab.locator(".secondary-toggle:visible").first.click()
    contents = tab.locator(".page-toc:visible").first.bounding_box()
    legend = tab.locator(".book-axes:visible").bounding_box()
    assert legend["y"] >= contents["y"] + contents["height"] - 1
    assert legend["width"] > 100
