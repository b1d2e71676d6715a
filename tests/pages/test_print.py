"""On paper: only the page, dark on white, with its figures as they stand."""

import re

import pytest

from tools.check.browser import DESKTOP, settle

FRAME = [
    ".bd-sidebar-primary",
    ".bd-sidebar-secondary",
    ".bd-header-article",
    ".prev-next-footer",
    ".bd-footer-content",
    ".book-facts a",
    "button:not(.mhsa-figure *)",
    ".mhsa-button",
    "a.headerlink",
    ".mhsa-controls",
]
UNCUT = ["figure", "pre", "table", ".mhsa-figure", ".cell_input", "iframe"]
THEME = "document.documentElement.dataset.theme === '{}'"
LIGHTNESS = """selector => {
  const tone = (text) => {
    const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
    return a === 0 ? null : (r + g + b) / 765;
  };
  return [...document.querySelectorAll(selector)].filter(e => e.checkVisibility()).map(e => {
    const style = getComputedStyle(e);
    return [tone(style.color), tone(style.backgroundColor)];
  });
}"""


@pytest.fixture(scope="module", params=["book/intro.html", "notebooks/05_attend.html"])
def paper(request, chromium, served):
    """A page that was dark on the screen, prepared for paper."""
    context = chromium.new_context(viewport=DESKTOP, color_scheme="dark")
    tab = context.new_page()
    tab.goto(f"{served}/{request.param}", wait_until="load")
    settle(tab)
    tab.wait_for_function(THEME.format("dark"), timeout=5_000)
    tab.emulate_media(media="print")
    tab.wait_for_function(THEME.format("light"), timeout=5_000)
    yield tab
    context.close()


def visible(tab, selector):
    return tab.locator(selector).locator("visible=true").count()


def test_the_frame_of_the_page_is_gone(paper):
    assert [selector for selector in FRAME if visible(paper, selector)] == []
    assert visible(paper, "article h1") == 1
    assert visible(paper, "article h2") > 2


def test_all_is_dark_on_light(paper):
    words = (
        "p, li, td, th, h1, h2, code, pre span, figcaption, a"  # a figure has its own colours
    )
    tones = paper.evaluate(LIGHTNESS, f"body, article :is({words}):not(.mhsa-figure *)")
    assert len(tones) > 50
    assert max(ink for ink, _ in tones if ink is not None) < 0.6
    assert min([sheet for _, sheet in tones if sheet is not None], default=1) > 0.85


def test_the_screen_is_dark_again_after_printing(paper):
    paper.emulate_media(media="screen")
    paper.wait_for_function(THEME.format("dark"), timeout=5_000)
    paper.emulate_media(media="print")
    paper.wait_for_function(THEME.format("light"), timeout=5_000)


def test_nothing_that_belongs_together_is_cut(paper):
    cut = """es => es.filter(e => getComputedStyle(e).breakInside !== 'avoid')
      .map(e => e.outerHTML)"""
    found = [paper.locator(f"article {s}").evaluate_all(cut) for s in UNCUT]
    assert [html[:80] for group in found for html in group] == []


def test_live_figures_are_printed_as_they_stand(paper):
    figures = paper.locator("[data-mhsa-alive]").all()
    assert figures or "intro" not in paper.url
    assert [f for f in figures if f.bounding_box()["height"] < 20] == []


def test_it_prints_within_the_width_of_the_paper(paper):
    pages = re.findall(rb"/Type\s*/Page\b", paper.pdf(format="A4"))
    assert 1 <= len(pages) <= 40
    paper.set_viewport_size({"width": 680, "height": 960})  # A4 less its margins, in CSS pixels
    assert paper.evaluate("document.documentElement.scrollWidth") <= 680
    paper.set_viewport_size(DESKTOP)
