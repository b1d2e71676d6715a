"""All exhibits on a page: anchor, lines, numbers, check and address of each."""

from docutils.nodes import make_id

from mhsa_book import museum
from mhsa_book.museum.catalogue import PAGE
from mhsa_book.museum.measured import effect
from tools.build import exhibits, links


def test_every_exhibit_stands_once_under_what_one_would_notice():
    page = exhibits.page()
    labels = [f"({each.label})=" for each in museum.exhibits()]
    assert all(page.count(label) == 1 for label in labels)
    assert page.count("\n### ") == len(labels) == len({*labels})
    halls = [line[3:] + "." for line in page.splitlines() if line.startswith("## ")]
    assert halls == [*museum.SYMPTOMS.values()]


def test_an_entry_has_its_lines_its_check_and_its_addresses():
    exhibit = museum.exhibit("one_token_of_the_future")
    said = exhibits.entry(exhibit)
    assert exhibit.diff in said
    assert exhibit.check.__name__ in said
    assert all(case.url in said for case in exhibit.found)


def test_what_raises_says_so_and_what_was_measured_stands_beside_the_right_one():
    found = effect(museum.exhibit("one_token_of_the_future"))
    said = exhibits.measured(found)
    assert f"{100 * found.mean('written'):.0f} % writing, if trained with it" in said
    assert said.endswith("The right one: 99 % and 99 %.")
    assert exhibits.measured(effect(museum.exhibit("view_after_transpose"))).startswith(
        "It raises `RuntimeError: view size"
    )
    both = exhibits.measured(effect(museum.exhibit("mixed_with_the_transpose")))
    assert "91 % reading, if trained with it; 18 % reading with" in both
    assert "It raises `RuntimeError" in both


def test_an_anchor_is_the_one_that_a_browser_finds():
    for each in museum.exhibits():
        assert each.page == f"{PAGE}#{make_id(f'exhibit-{each.name}')}"


def test_the_page_that_messages_name_is_the_one_that_is_published():
    assert f"{links.site()}/book/exhibits.html" == PAGE
