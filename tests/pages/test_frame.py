"""Around the page: search, links, the first screen, and all of it without a mouse."""

import json
import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tools import ROOT
from tools.build import plain
from tools.check.browser import DESKTOP, PHONE, Visit, listen, settle
from tools.check.pages import SITE

CHAPTER = "notebooks/05_attend.html"


# --- as files --------------------------------------------------------------------------------


def facts(page):
    return {a.text: str(a["href"]) for a in page.soup.select(".book-facts a")}


def test_every_chapter_can_be_downloaded_as_its_plain_edition(chapters):
    for page in chapters:
        link = page.soup.select_one(".book-facts a[download]")
        copy, _ = page.target(link["href"])
        made = plain.FOLDER / f"{copy.stem}.ipynb"
        assert page.name == f"notebooks/{copy.stem}.html"
        assert copy.read_bytes() == made.read_bytes()


def test_every_page_of_the_book_can_be_edited_at_its_source(pages):
    entries = re.findall(
        r"(?:root|file): (\S+)", (ROOT / "_toc.yml").read_text(encoding="utf-8")
    )
    for entry in entries:
        edit = urlsplit(facts(pages[SITE / f"{entry}.html"])["Edit this page"]).path
        assert (ROOT / edit.partition("/edit/main/")[2]).stem == entry.rpartition("/")[2]


def test_previous_and_next_go_through_the_book_in_order(pages):
    entries = re.findall(
        r"(?:root|file): (\S+)", (ROOT / "_toc.yml").read_text(encoding="utf-8")
    )
    page, path = pages[SITE / f"{entries[0]}.html"], []
    while page:
        path.append(page.path.relative_to(SITE).with_suffix("").as_posix())
        link = page.soup.select_one(".prev-next-area .right-next")
        page = pages[page.target(link["href"])[0]] if link else None
    assert path == entries


# --- in the browser --------------------------------------------------------------------------


def test_search_finds_a_page_and_asks_nobody(tab, anywhere):
    seen = Visit("search")
    listen(tab, seen, anywhere)
    tab.goto(f"{anywhere}/{CHAPTER}", wait_until="load")
    settle(tab)  # until then nobody listens to the keys
    tab.keyboard.press("Control+k")
    tab.keyboard.type("permutation equivariance")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#search-results ul.search li:has-text('Glossary')")
    tab.wait_for_timeout(500)  # summaries, where there are any
    assert seen.complaints == []


def test_search_shows_a_chapter_by_its_number_and_its_question(tab, served):
    tab.goto(f"{served}/search.html?q=fused+kernel", wait_until="load")
    chapter = "16 The fused kernel: how can a table not exist?"
    tab.locator("#search-results").get_by_role("link", name=chapter, exact=True).wait_for()


def test_a_notebook_is_saved_with_its_name(tab, anywhere):
    tab.goto(f"{anywhere}/{CHAPTER}", wait_until="load")
    with tab.expect_download() as waiting:
        tab.get_by_role("link", name="Download notebook").click()
    assert waiting.value.suggested_filename == "05_attend.ipynb"
    assert json.loads(waiting.value.path().read_text(encoding="utf-8"))["nbformat"] == 4


@pytest.mark.parametrize(("size", "shown"), [(DESKTOP, 400), (PHONE, 300)])
def test_the_first_screen_shows_what_a_model_says_and_where_a_head_looks(
    tab, served, size, shown
):
    tab.set_viewport_size(size)
    tab.goto(f"{served}/book/intro.html", wait_until="load")
    settle(tab)
    box = tab.locator(".mhsa-nine-heads[data-mhsa-alive]").bounding_box()
    assert min(box["height"], size["height"] - box["y"]) >= shown
    arcs = tab.locator(".mhsa-nine-heads .mhsa-sentence").bounding_box()
    assert arcs["y"] + arcs["height"] <= size["height"]
    expect(tab.locator(".mhsa-slot")).to_have_text("Mary")
    assert tab.locator("article h1").bounding_box()["y"] < box["y"]


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_on_a_phone_a_figure_keeps_readable_words(tab, served, colours):
    tab.set_viewport_size(PHONE)
    tab.emulate_media(color_scheme=colours)
    tab.goto(f"{served}/notebooks/lab_12_kernels_on_a_cpu.html", wait_until="load")
    settle(tab)
    tab.wait_for_function(f"document.documentElement.dataset.theme === '{colours}'")
    figure, picture = "#fig-benchmark-lost", "#fig-benchmark-lost img"
    tab.locator(figure).scroll_into_view_if_needed()
    assert tab.locator(picture).bounding_box()["width"] > 500
    assert tab.locator(figure).bounding_box()["width"] <= PHONE["width"]


UNSEEN = """() => {
  const at = document.activeElement, style = getComputedStyle(at);
  const seen = style.outlineStyle !== 'none' || style.boxShadow !== 'none';
  return seen ? null : at.outerHTML;
}"""
"""What has the focus, if nothing shows that it does."""


def test_the_keyboard_reaches_the_text_first_and_shows_where_it_is(tab, served):
    tab.goto(f"{served}/{CHAPTER}", wait_until="load")
    tab.keyboard.press("Tab")
    assert tab.locator(":focus").inner_text() == "Skip to main content"
    tab.keyboard.press("Enter")
    unseen = []
    for _ in range(25):
        tab.keyboard.press("Tab")
        unseen.append(tab.evaluate(UNSEEN))
    assert tab.locator("article :focus").count() == 1
    assert [html for html in unseen if html] == []


def test_the_focus_is_seen_wherever_the_keyboard_goes(tab, served):
    tab.goto(f"{served}/{CHAPTER}", wait_until="load")
    settle(tab)
    unseen, reached = [], ""
    for _ in range(600):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement === document.body"):
            break
        unseen.append(tab.evaluate(UNSEEN))
        reached += tab.evaluate("document.activeElement.closest('nav, p, body').className")
    assert [html for html in unseen if html] == []
    assert "bd-links" in reached
    assert "admonition-title" in reached


def test_buttons_that_show_a_solution_are_named_after_it(tab, served):
    tab.goto(f"{served}/{CHAPTER}", wait_until="load")
    names = tab.locator(".toggle-button").evaluate_all("all => all.map(one => one.ariaLabel)")
    assert len(names) > 1
    assert len(set(names)) == len(names)
    assert all(name.startswith("Solution") for name in names)


def test_the_sign_of_a_box_stands_before_it(tab, served):
    tab.goto(f"{served}/book/intro.html", wait_until="load")
    signs = tab.locator('.admonition[class*="book-"] > .admonition-title').evaluate_all(
        "all => all.map(one => getComputedStyle(one, '::before').zIndex)"
    )
    assert set(signs) == {"auto"}


def test_nothing_moves_for_those_who_asked_for_it(tab, served):
    tab.emulate_media(reduced_motion="reduce")
    tab.goto(f"{served}/{CHAPTER}", wait_until="load")
    slow = tab.evaluate("""() => [...document.querySelectorAll('*')].filter(e => {
      const style = getComputedStyle(e);
      const times = [style.transitionDuration, style.animationDuration];
      return times.some(t => parseFloat(t) > 0.001) || style.scrollBehavior === 'smooth';
    }).map(e => e.outerHTML.slice(0, 80))""")
    assert slow == []


def test_every_field_has_an_address_and_words(tab, served):
    """A browser that fills in forms, and a voice that is told "press …", need both."""
    bare = {}
    for stem in (
        "01_from_averages_to_attention",
        "09_the_whole_pass",
        "11_heads_of_a_real_model",
    ):
        tab.goto(f"{served}/notebooks/{stem}.html", wait_until="load")
        settle(tab)
        bare[stem] = tab.evaluate(FIELDS)
    assert {stem: fields for stem, fields in bare.items() if fields} == {}


FIELDS = """() => [...document.querySelectorAll("input, select, textarea")].filter((field) =>
  !(field.name || field.id)
  || !(field.ariaLabel || [...field.labels].some((one) => one.textContent.trim()))
).map((field) => field.outerHTML)"""
