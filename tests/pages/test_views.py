"""A link brings a reader to what somebody else saw in a figure, or says that it cannot."""

import re

import pytest

from tests.pages.test_kept import CHAPTER, FIGURE, opened, width
from tools.check.browser import PHONE, Visit, listen

LEADS = "?view=live-scale-lab&d_head=256&scale=1%2Fsqrt%28d_head%29#live-scale-lab"


@pytest.fixture
def at(tab, address):
    """Open the chapter at a link; the console stays clean."""
    result = Visit(CHAPTER)
    listen(tab, result, address)

    def go(link="", page=CHAPTER):
        opened(tab, f"{address}/{page}{link}")
        return tab

    yield go
    assert result.complaints == []


def said(tab, figure=FIGURE):
    return tab.locator(figure).locator(".mhsa-foot [role=status]").inner_text()


def copied(tab, figure=FIGURE):
    tab.locator(figure).get_by_role("button", name="Copy link to this view").press("Enter")
    tab.wait_for_function("location.search.includes('figure=')")
    return tab.evaluate("location.search + location.hash")


def test_a_link_shows_what_was_seen_there(at):
    tab = at(LEADS)
    assert (width(tab), said(tab)) == ("256", "As the link shows it.")
    assert tab.locator(FIGURE).get_by_label("scale").input_value() == "1/√d_head"
    tab.wait_for_function("document.activeElement.id === 'live-scale-lab'")
    assert 0 <= tab.locator(FIGURE).bounding_box()["y"] < 300


def test_a_setting_called_view_does_not_hide_which_figure_is_meant(at, tab):
    page, figure = "notebooks/01_from_averages_to_attention.html", "#live-head-explorer"
    at("", page)
    tab.locator(figure).get_by_label("draw as").select_option("lines")
    link = copied(tab, figure)
    assert "figure=live-head-explorer" in link
    at()
    at(link, page)
    assert said(tab, figure) == "As the link shows it."
    assert tab.locator(figure).get_by_label("draw as").input_value() == "lines"


def test_a_phone_is_brought_there_too(at, tab):
    tab.set_viewport_size(PHONE)
    at(LEADS)
    assert 0 <= tab.locator(FIGURE).bounding_box()["y"] < 300


def test_the_address_holds_a_state_only_while_it_is_asked_for_and_true(at):
    tab = at()
    tab.locator(FIGURE).get_by_label("d_head", exact=True).press("ArrowRight")
    assert tab.evaluate("location.search") == ""
    assert "d_head=128" in copied(tab)
    tab.locator(FIGURE).get_by_label("d_head", exact=True).press("ArrowRight")
    assert tab.evaluate("location.search") == ""
    assert said(tab) == ""


def test_what_was_copied_is_what_a_link_restores(at, tab):
    at(LEADS)
    link = copied(tab)
    at("", "notebooks/06_masks.html")
    at(link)
    assert width(tab) == "256"


def test_the_link_goes_to_the_clipboard_where_there_is_one(chromium, served):
    context = chromium.new_context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab = context.new_page()
    opened(tab, f"{served}/{CHAPTER}")
    copied(tab)
    tab.get_by_text("Link copied.").wait_for()
    assert tab.evaluate("navigator.clipboard.readText()") == tab.evaluate("location.href")
    context.close()


def test_a_link_goes_before_what_was_kept_and_leaves_it(at, tab):
    at()
    tab.locator(FIGURE).get_by_label("d_head", exact=True).press("ArrowRight")
    at(LEADS)
    assert width(tab) == "256"
    at()
    assert width(tab) == "128"


@pytest.mark.parametrize(
    "wrong",
    [
        "d_head=0",
        pytest.param("d_head=1e9", marks=pytest.mark.slow),
        pytest.param("d_head=64.5", marks=pytest.mark.slow),
        "d_head=%3Cimg src=x onerror=alert(1)%3E",
        "scale=2",
        pytest.param("seed=[0]", marks=pytest.mark.slow),
        pytest.param("temperature=NaN", marks=pytest.mark.slow),
        "d_head=" + "9" * 3000,
        "__proto__=1&seed=null",
    ],
)
def test_a_link_that_does_not_fit_shows_the_start_and_says_so(at, wrong):
    tab = at(f"?view=live-scale-lab&{wrong}&scale=1%2Fd_head#live-scale-lab")
    assert said(tab) == "The link does not fit this figure, which shows its start."
    assert width(tab) == "64"
    assert tab.locator(FIGURE).get_by_label("scale").input_value() == "1"
    assert tab.locator(".mhsa-foot :is(img, script, b)").count() == 0


def test_a_figure_that_is_gone_is_said(at):
    tab = at("?view=live-%3Cb%3E&d_head=3#live-x")
    tab.get_by_text("The link leads to a figure that is not on this page any more.").wait_for()


def test_numbers_that_were_typed_are_left_out_and_the_button_says_so(at, tab):
    at("", "notebooks/09_the_whole_pass.html")
    figure = tab.locator("#live-stage-stepper")
    figure.get_by_role("button", name="softmax").click()
    name = figure.get_by_role("button", name="Copy link").inner_text()
    assert name == "Copy link to this view, without typed numbers"
    link = copied(tab, "#live-stage-stepper")
    assert "step=softmax" in link
    assert "W_Q" not in link
    at(link, "notebooks/09_the_whole_pass.html")
    assert figure.get_by_role("button", name="softmax").get_attribute("aria-current") == "step"


def test_every_figure_of_the_book_has_an_id_of_its_own(pages):
    for page in pages.values():
        ids = [figure.get("id", "") for figure in page.soup.select("[data-mhsa-figure]")]
        assert [id for id in ids if not re.fullmatch(r"live-[a-z-]+(-\d+)?", id)] == []
        assert len({*ids}) == len(ids)
