"""What the search is given: every place of a page with its own words."""

import json
import re

import sections
from docutils import nodes
from docutils.core import publish_doctree
from sphinx import addnodes

from tools.check.pages import SITE

TEXT = """
Masks
=====

Who may look at whom?

The future
----------

A causal mask hides it.

::

    mask.tril()

Padding
-------

No word stands there.
"""


def test_a_section_has_its_own_words_and_not_those_of_the_next():
    tree = publish_doctree(TEXT, settings_overrides={"doctitle_xform": False})
    assert list(sections.places(tree)) == [
        ["masks", "Masks", "Who may look at whom?", ""],
        ["the-future", "The future", "A causal mask hides it.", "mask.tril()"],
        ["padding", "Padding", "No word stands there.", ""],
    ]


def test_a_label_of_a_section_is_its_address():
    section = nodes.section("", nodes.title("", "Why?"), ids=["why", "guide-why"])
    assert sections.heading(section) == ("guide-why", "Why?")


def test_a_function_of_the_api_is_a_place():
    signature = addnodes.desc_signature("", "f(x)", ids=["m.f"], fullname="f")
    content = addnodes.desc_content("", nodes.paragraph("", "", nodes.Text("Cut it.")))
    tree = nodes.section("", nodes.title("", "API"), addnodes.desc("", signature, content))
    tree["ids"] = ["api"]
    assert list(sections.places(tree)) == [
        ["api", "API", "", ""],
        ["m.f", "f", "Cut it.", ""],
    ]


def test_a_formula_can_be_read():
    assert sections.formula(r"\sqrt{d_{head}} \cdot \mathrm{softmax}(a)") == (
        "sqrt d_head cdot softmax(a)"
    )


def test_chapters_the_guide_and_lab_notes_are_told_from_the_api():
    names = ("notebooks/a3_guide_x", "notebooks/06_masks", "notebooks/lab_01_x", "book/api")
    assert [sections.kind(name) for name in names] == ["guide", "chapter", "lab", "api"]


def listed():
    script = (SITE / "_static" / "sections.js").read_text(encoding="utf-8")
    return json.loads(re.search(r"^const PAGES = (.*);$", script, re.MULTILINE)[1])


def test_every_place_of_the_list_is_on_its_page(pages):
    missing = [
        (page["page"], anchor)
        for page in listed()
        for anchor, *_ in page["places"]
        if anchor not in pages[SITE / page["page"]].anchors
    ]
    assert missing == []


def test_every_chapter_is_listed_with_its_sections(chapters):
    counted = {page["page"]: len(page["places"]) for page in listed()}
    assert [page.name for page in chapters if counted.get(page.name, 0) < 4] == []
