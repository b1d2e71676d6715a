"""The contents beside every page, and the way through it: chapter 7 stands there as 07."""

import pytest

from tools.check.pages import SITE

FIRST = SITE / "book" / "intro.html"
PARTS = [
    "Part I, why",
    "Part II, the five stages",
    "Part III, at work",
    "Part IV, speed",
    "Part V, beyond concat",
    "Lab notes",
    "Appendix",
]


def contents(page):
    """Return the words and the file of every link in the sidebar of a page."""
    links = page.soup.select(".bd-sidebar-primary nav[aria-label=Main] a")
    return [(link.get_text(strip=True), page.target(link["href"])[0]) for link in links]


def arrow(page, side):
    """Return the words and the file of the link to the next or the previous page."""
    link = page.soup.select_one(f".prev-next-area .{side}")
    return link.select_one(".prev-next-title").get_text(strip=True), page.target(link["href"])[
        0
    ]


@pytest.fixture(scope="module")
def named(pages):
    """What the sidebar of the first page calls each other one."""
    return {file: text for text, file in contents(pages[FIRST])}


def test_the_parts_are_those_of_the_book(pages):
    captions = pages[FIRST].soup.select(".bd-sidebar-primary .caption-text")
    assert [caption.get_text(strip=True) for caption in captions] == PARTS


def test_every_chapter_stands_there_with_the_number_of_its_file(named, chapters):
    numbered = [page for page in chapters if page.path.name[0].isdigit()]
    numbers = {page.path.name.partition("_")[0]: named[page.path] for page in numbered}
    assert len(numbers) == len(numbered)
    assert [n for n, name in numbers.items() if not name.startswith(f"{n} ")] == []


def test_every_page_has_the_same_contents(named, pages):
    beside = [page for page in pages.values() if page.soup.select_one(".bd-sidebar-primary")]
    assert len(beside) > len(named)
    assert [p.name for p in beside if {f: t for t, f in contents(p)} != named] == []


def test_the_first_page_leads_to_the_first_chapter(pages):
    words, file = arrow(pages[FIRST], "right-next")
    assert file.name == "primer.html"
    assert words == "Primer"


def test_an_arrow_and_a_sentence_call_a_chapter_as_the_contents_do(named, pages, chapters):
    links = [(page, *arrow(page, "right-next")) for page in chapters]
    links += [(page, *arrow(page, "left-prev")) for page in chapters]
    links += [
        (page, name.get_text(), page.target(name.parent["href"])[0])
        for page in [pages[FIRST], *chapters]
        for name in page.soup.select("article a > .doc")
    ]
    numbered = [link for link in links if link[1][:2].isdigit()]
    assert len(numbered) > 2 * len(chapters)
    assert [(page.name, words) for page, words, file in numbered if words != named[file]] == []
