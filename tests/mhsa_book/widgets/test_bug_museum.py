"""The museum in the page: every exhibit opens, and the choices narrow the walk."""

import pytest
from playwright.sync_api import expect
from traitlets import TraitError

from mhsa_book import museum
from mhsa_book.museum.measured import effect, map_of
from mhsa_book.widgets import BugMuseum


def names(page):
    """The exhibits that are offered, as they are written."""
    return page.get_by_label("exhibit").locator("option").all_inner_texts()


def spaced(exhibit):
    return exhibit.name.replace("_", " ").replace("W O", "W_O")


def test_every_exhibit_opens_with_its_lines_its_maps_and_its_numbers(open_figure):
    page = open_figure(BugMuseum())
    assert names(page) == [spaced(each) for each in museum.exhibits()]
    for each in museum.exhibits():
        page.get_by_label("exhibit").select_option(label=spaced(each))
        lines = page.locator("pre span").all_inner_texts()
        assert [line.rstrip() for line in lines] == each.diff.splitlines()
        assert page.locator("svg").count() == (2 if map_of(each) is None else 3)
        cells = page.locator("tbody td").all_inner_texts()
        share = effect(each).mean("read")
        assert cells[0] == ("error" if share is None else f"{share:.0%}".replace("%", " %"))
        links = page.locator("li a").evaluate_all("links => links.map(a => a.href)")
        assert links == [case.url for case in each.found]
        expect(page.get_by_role("status")).to_contain_text(each.title)


def test_a_symptom_and_a_stage_narrow_the_walk_and_next_goes_round(open_figure):
    page = open_figure(BugMuseum())
    page.get_by_label("symptom").select_option("in use")
    wanted = [spaced(each) for each in museum.exhibits(symptom="in use")]
    assert names(page) == wanted
    for name in (*wanted[1:], wanted[0]):
        page.get_by_role("button", name="Next").click()
        expect(page.locator(".mhsa-big")).to_have_text(name)
    page.get_by_role("button", name="Previous").click()
    expect(page.locator(".mhsa-big")).to_have_text(wanted[-1])
    page.get_by_label("stage").select_option("cache")
    wanted = [spaced(each) for each in museum.exhibits(symptom="in use", stage="cache")]
    assert names(page) == wanted
    page.get_by_label("stage").select_option("W_O")  # none of these is "in use"
    assert names(page) == [spaced(each) for each in museum.exhibits(stage="W_O")]
    expect(page.get_by_label("symptom")).to_have_value("any")


@pytest.mark.parametrize("head", range(4))
def test_the_maps_are_those_of_the_head(head, open_figure):
    page = open_figure(BugMuseum("one_token_of_the_future", head=head))
    svgs = page.locator("svg")
    levels = svgs.nth(1).locator("rect title").all_text_contents()
    assert len(levels) == 100
    ahead = [float(text.rsplit(" ", 1)[1]) for text in levels[1::11]]
    assert (max(ahead) > 0.3) == (head in (0, 2))


def test_on_a_phone_nothing_is_cut(open_figure):
    page = open_figure(BugMuseum("packed_in_another_order"), width=390, theme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_name_that_is_none_is_refused():
    with pytest.raises(TraitError, match="no_skale"):
        BugMuseum("no_skale")
    assert "one off" in BugMuseum("one_token_of_the_future").alt
