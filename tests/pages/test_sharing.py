"""Pages say what they are about, and stand well where a link to them is shared."""

import re
from collections import Counter

import nbformat
import pytest
import sharing
from docutils.core import publish_doctree

from tools import ROOT
from tools.build import card, links, poster
from tools.check.browser import DESKTOP, PHONE
from tools.check.pages import SITE

FIRST = SITE / "book" / "intro.html"


# --- the extension ---------------------------------------------------------------------------


def page(text):
    return publish_doctree(text)


def test_a_chapter_is_described_by_its_question_and_how_it_begins():
    tree = page("07 A: where is it?\n==================\n\nHere. Or there.\n\nMore.\n")
    assert sharing.described(tree) == "Where is it? Here. Or there."


def test_a_page_without_a_question_by_how_it_begins():
    tree = page(
        "Notation\n========\n\n.. note:: Boxed.\n\n..\n\n   Quoted.\n\nThe same word.\n"
    )
    assert sharing.described(tree) == "The same word."


def test_a_page_may_say_it_itself():
    tree = page("A: why?\n=======\n\n.. meta::\n   :description: Because.\n\nSo.\n")
    assert sharing.described(tree) == "Because."


def test_it_ends_with_a_sentence_or_with_a_word():
    assert sharing.fitting(["One two.", "Three."], 15) == "One two. Three."
    assert sharing.fitting(["One two.", "Three."], 14) == "One two."
    assert sharing.fitting(["One two three."], 10) == "One two…"
    assert sharing.sentences('It is 3.5 times. "So?" Yes.') == [
        "It is 3.5 times.",
        '"So?" Yes.',
    ]


def test_what_is_said_cannot_leave_its_tag():
    html = sharing.tags('"<b>', 'a "b" & c', "a.html", "https://x", "Book", ("a.png", "<"))
    assert '"<b>' not in html
    assert "a &quot;b&quot; &amp; c" in html


# --- the pages -------------------------------------------------------------------------------


def said(page):
    """Names and properties of a page's head, each once."""
    tags = page.soup.head.find_all("meta", content=True)
    named = [(tag.get("name") or tag.get("property"), tag["content"]) for tag in tags]
    kept = [name for name, _ in named if name and name.startswith(("og:", "description"))]
    assert [name for name, n in Counter(kept).items() if n > 1] == []
    return dict(named)


@pytest.fixture(scope="module")
def heads(pages):
    return {p.name: said(p) for p in pages.values() if p.name != "index.html"}


def test_every_page_has_a_description_of_its_own(heads):
    descriptions = {name: head.get("description", "") for name, head in heads.items()}
    assert [name for name, about in descriptions.items() if len(about.split()) < 4] == []
    assert [name for name, about in descriptions.items() if len(about) > sharing.LONGEST] == []
    twice = [about for about, n in Counter(descriptions.values()).items() if n > 1]
    assert twice == []


def test_a_chapter_begins_with_its_question(heads, chapters):
    without = []
    for chapter in chapters:
        title = chapter.soup.h1.get_text().removesuffix("#")
        asked = title.rpartition(": ")[2]
        about = heads[chapter.name]["description"]
        if asked.endswith("?") and not about.lower().startswith(asked.lower()):
            without.append(f"{chapter.name}: {about}")
    assert without == []


def test_links_show_title_description_and_a_picture_that_is_there(heads):
    for name, head in heads.items():
        assert head["og:title"], name
        assert head["og:description"] == head["description"]
        assert head["og:url"] == f"{links.site()}/{name}"
        address = head["og:image"].removeprefix(f"{links.site()}/")
        assert (SITE / address).exists(), name
        assert (head["og:image:width"], head["og:image:height"]) == tuple(map(str, card.SIZE))
        assert head["og:image:alt"], name
    titles = Counter(head["og:title"] for name, head in heads.items() if "modules" not in name)
    assert [title for title, n in titles.items() if n > 1] == []


def first_alt(path):
    """What the first cell that draws a picture says about it."""
    for cell in nbformat.read(path, as_version=4).cells:
        if any("image/png" in output.get("data", {}) for output in cell.get("outputs", [])):
            return cell.metadata.mystnb.image.alt
    return None


def test_a_chapter_that_has_a_picture_is_shared_with_it(heads):
    shown = {f"notebooks/{name[5:-4]}.html": name for name, _, _ in card.chapters()}
    assert len(shown) > 25
    for page, name in shown.items():
        assert heads[page]["og:image"].endswith(f"/{name}"), page
        assert heads[page]["og:image:alt"] == first_alt(ROOT / page.replace(".html", ".ipynb"))
    assert heads["book/intro.html"]["og:image"].endswith("/card.png")


# --- the poster on the first page ------------------------------------------------------------


def test_the_first_page_offers_the_poster_of_this_state_of_the_library(pages):
    saved = pages[FIRST].soup.select("a[download][href$='.svg']")
    names = {str(link["href"]).rpartition("/")[2] for link in saved}
    assert len(names) == 4
    for name in names:
        form = re.fullmatch(r"attention-(a3|phone)(-dark)?\.svg", name)
        draw = getattr(poster, form[1])
        made = (SITE / "vendor" / "poster" / name).read_text(encoding="utf-8")
        assert made == draw(poster.THEMES[form[2] or ""])
    (source,) = [
        a for a in pages[FIRST].soup.find_all("a") if a.text == "the script that draws it"
    ]
    assert (ROOT / str(source["href"]).partition("/blob/main/")[2]).exists()


INSIDE = """async (svg) => {
  document.body.innerHTML = svg;
  const root = document.querySelector("svg");
  const paper = root.getBoundingClientRect();
  const out = [...root.querySelectorAll("text")].filter((one) => {
    const box = one.getBoundingClientRect();
    return box.left < paper.left || box.right > paper.right || box.bottom > paper.bottom;
  });
  return out.map((one) => one.textContent);
}"""


@pytest.mark.parametrize(("sheet", "size"), [("a3", DESKTOP), ("phone", PHONE)])
def test_no_word_of_the_poster_leaves_the_sheet(chromium, sheet, size):
    tab = chromium.new_context(viewport=size).new_page()
    tab.set_content("<body></body>")
    assert tab.evaluate(INSIDE, getattr(poster, sheet)(poster.LIGHT)) == []
    tab.context.close()
