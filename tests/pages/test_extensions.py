"""The book's own extensions of Sphinx, on small trees and strings."""

import sys
from types import SimpleNamespace

import chapter_names
import glossary_hover
import once
import page_facts
import pytest
import reading_time
from docutils import nodes
from docutils.core import publish_doctree

from mhsa_book.widgets import Interact, Predict
from tools import ROOT
from tools.build import plain

sys.path.insert(0, str(ROOT / "book" / "_ext"))
STYLE = '<style data-mhsa-piece="kit:1">p{}</style>'
SCRIPT = '<script type="text/plain" data-mhsa-piece="kit:1">const a = "<b>";\nf()</script>'


def test_a_piece_is_kept_once_and_its_place_is_the_first():
    assert once.once(f"{STYLE}{SCRIPT}<p>x</p>{STYLE}{SCRIPT}") == f"{STYLE}{SCRIPT}<p>x</p>"


def test_pieces_of_other_content_or_kind_are_others():
    other = STYLE.replace("kit:1", "kit:2")
    assert once.once(STYLE + other + SCRIPT) == STYLE + other + SCRIPT


def test_scripts_and_data_without_a_piece_are_left_alone():
    html = '<script>f()</script><script type="application/json">{"a": 1}</script>' * 2
    assert once.once(html) == html


def test_a_page_without_a_name_of_its_own_keeps_its_title():
    contents = {
        name: SimpleNamespace(title=title) for name, title in [("a", "07 A"), ("b", None)]
    }
    assert chapter_names.names(contents) == {"a": "07 A"}


def prose(n):
    return nodes.paragraph("", "", nodes.Text("word " * n))


def cell():
    return nodes.container("", nodes.literal_block("", "x = 1 " * 50), classes=["cell_input"])


@pytest.mark.parametrize(("n", "minutes"), [(0, 1), (220, 1), (221, 2), (2200, 10)])
def test_prose_takes_its_words(n, minutes):
    assert reading_time.minutes(nodes.section("", prose(n))) == (minutes, 0)


def test_code_counts_as_cells_not_as_words():
    assert reading_time.words(cell()) == 0
    assert (
        reading_time.minutes(nodes.section("", prose(220), *(cell() for _ in range(3))))[0] == 2
    )


def test_a_live_figure_takes_a_minute_and_a_formula_is_a_word():
    figure = nodes.raw("", '<div data-mhsa-figure="a"></div>', format="html")
    formula = nodes.paragraph("", "", nodes.Text("so "), nodes.math("", r"\frac{a}{b} + c"))
    assert reading_time.words(formula) == 2
    assert reading_time.minutes(nodes.section("", prose(218), formula, figure))[0] == 2


def test_folded_code_takes_no_time():
    folded = nodes.container("", *(cell() for _ in range(9)), classes=["tag_hide-input"])
    tree = nodes.section("", prose(220), folded)
    assert reading_time.minutes(tree) == (1, 0)
    assert reading_time.extras(nodes.section("", nodes.container("", cell())))["code cell"] == 1


def test_a_quiz_takes_half_a_minute():
    html = Predict("How many?", 4, {8: "No."}).html()
    tree = nodes.section("", prose(110), nodes.raw("", html, format="html"))
    assert reading_time.extras(tree) | {"quiz": 0} == reading_time.extras(nodes.section())
    assert reading_time.minutes(tree)[0] == 1


def test_a_slider_over_stored_outputs_takes_half_a_minute():
    html = Interact(str, object=[1, 2]).html()
    tree = nodes.section("", prose(110), nodes.raw("", html, format="html"))
    assert reading_time.extras(tree) | {"slider": 0} == reading_time.extras(nodes.section())
    assert reading_time.minutes(tree)[0] == 1


def test_exercises_are_counted_apart_and_take_time_to_answer():
    asked = nodes.admonition("", prose(220), classes=["exercise"])
    apart = nodes.section("", nodes.title("", "Exercises"), asked, cell())
    tree = nodes.section("", prose(440), cell(), apart)
    assert reading_time.minutes(tree) == (3, 5)  # 2 min 20 s; 1 + 3 min and a cell


def test_a_path_is_as_long_as_its_chapters():
    times = {"01": 5, "02": 7, "03": 9, "09": 1}
    assert page_facts.with_sums("a ⟦01–03⟧, b ⟦01 09⟧ c", times) == "a 21, b 6 c"


def test_a_comment_takes_no_time():
    assert reading_time.words(publish_doctree("one two\n\n.. three four")) == 2


def test_the_line_under_the_title_keeps_the_theme_s_addresses():
    buttons = [
        {"buttons": [{"text": "Colab", "url": "https://colab/x.ipynb"}], "label": "launch"},
        {"text": ".ipynb", "label": "download-source-button", "url": "../x.ipynb"},
        {"text": "Suggest edit", "label": "source-edit-button", "url": "https://edit?a=1&b"},
    ]
    html = page_facts.line((7, 4), page_facts.links(buttons))
    assert "7 min to read and run, 4 for the exercises" in html
    assert '<a href="https://colab/x.ipynb">Open in Colab</a>' in html
    assert '<a href="../x.ipynb" download>Download notebook</a>' in html
    assert '<a href="https://edit?a=1&amp;b">Edit this page</a>' in html


def test_colab_opens_the_plain_edition():
    theirs = plain.colab("04_split").replace("/blob/plain/", "/blob/main/notebooks/")
    buttons = [{"buttons": [{"text": "Colab", "url": theirs}], "label": "launch"}]
    page_facts.to_plain(buttons)
    assert page_facts.links(buttons) == [("Open in Colab", plain.colab("04_split"))]


def test_a_link_to_a_term_shows_what_it_means():
    glossary = publish_doctree("key\n  What is asked.\n\n  More.\n")
    next(glossary.findall(nodes.term))["ids"] = ["term-key"]
    env = SimpleNamespace(found_docs={"book/glossary"}, get_doctree=lambda name: glossary)
    to_term = nodes.reference("", "key", refuri="../book/glossary.html#term-key")
    elsewhere = nodes.reference("", "key", refuri="02.html#key")
    page = nodes.section("", nodes.paragraph("", "", to_term, elsewhere))
    glossary_hover.explain(SimpleNamespace(env=env), page, "01")
    assert to_term["reftitle"] == "What is asked."
    assert "reftitle" not in elsewhere
