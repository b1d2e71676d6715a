"""The reader chooses the sentence, the greeting, the map and the word; Python may, too."""

import pytest

from mhsa_book.widgets import TranslatorLab
from mhsa_book.widgets.translator_lab import rules
from tests.mhsa_book.widgets.conftest import said
from tests.mhsa_book.widgets.plain_model import mount_again
from tests.mhsa_book.widgets.translator_lab.reader import SENTENCE, head, load, translation


def test_a_sentence_is_chosen_word_by_word(loaded):
    page = loaded(TranslatorLab())
    page.get_by_label("first clause: verb").select_option("rolan")
    page.get_by_label("first clause, first phrase: number").select_option("ip")
    page.get_by_label("first clause, first phrase: adjective").select_option("–")
    typed = page.get_by_label("Sentence", exact=True)
    assert typed.input_value() == "rolan ip balo ip sako"
    assert translation(page) == TranslatorLab("rolan ip balo ip sako").translation
    menu = page.get_by_label("first clause, second phrase: noun")
    assert menu.locator("option:disabled").all_inner_texts() == ["balo"]
    menu.focus()
    page.get_by_label("between two clauses: join").select_option("sa")
    assert typed.input_value() == "rolan ip balo ip sako sa rolan ip mabo"
    assert page.get_by_label("second clause: verb").count() == 1
    assert translation(page) == TranslatorLab(typed.input_value()).translation


def test_a_sentence_is_typed_or_refused_in_words_with_a_way_back(loaded):
    page = loaded(TranslatorLab())
    typed = page.get_by_label("Sentence", exact=True)
    for text in ("rolan meti balo", "rolan ot balo", "the animal", "<img src=x>"):
        typed.fill(text)
        typed.press("Enter")
        assert page.locator(".mhsa-notice [role=alert]").inner_text() == rules.problem(text)
        assert typed.get_attribute("aria-invalid") == "true"
        assert translation(page) == TranslatorLab().translation
    assert page.locator("img").count() == 0
    page.get_by_role("button", name="sentence = “").click()
    assert typed.input_value() == SENTENCE
    typed.fill("  sevan ul tino   ip zuko ")
    typed.press("Enter")
    assert typed.input_value() == "sevan ul tino ip zuko"
    assert translation(page) == TranslatorLab("sevan ul tino ip zuko").translation


def test_another_sentence_is_one_that_the_model_knows(loaded):
    page = loaded(TranslatorLab())
    for _ in range(5):
        page.get_by_role("button", name="Another sentence").click()
        text = page.get_by_label("Sentence", exact=True).input_value()
        assert rules.problem(text) is None
        assert translation(page) == TranslatorLab(text).translation


@pytest.mark.parametrize("greeting", [*rules.BEGINNINGS])
def test_the_translation_begins_as_the_reader_likes(loaded, greeting):
    page = loaded(TranslatorLab())
    page.get_by_label("The translation begins with").select_option(greeting)
    assert translation(page) == TranslatorLab(greeting=greeting).right
    assert translation(page).startswith(f"{greeting} ")


def test_the_map_of_any_head_is_shown_with_the_chosen_word(loaded):
    page = loaded(TranslatorLab())
    assert page.locator(".mhsa-gold").count() == 8
    page.locator(".mhsa-said-words button").nth(1).click()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    assert page.locator(".mhsa-asks th").inner_text() == "dastu"
    assert "cross L1H0 looks at “balo”" in said(page, "“dastu” has")
    page.locator(".mhsa-map tbody tr").nth(4).click()
    assert page.locator(".mhsa-asks th").inner_text() == "nalesh"
    assert "looks at “meti”" in said(page, "“nalesh” has")
    for name, rows, columns in (("decoder L1H3", 8, 8), ("encoder L0H0", 6, 6)):
        page.get_by_role("button", name=f"Show {name}", exact=True).click()
        assert page.locator(".mhsa-map tbody tr").count() == rows
        assert page.locator(".mhsa-map thead th").count() == columns
        assert page.locator(".mhsa-gold").count() == 0
        assert page.get_by_role("table", name=f"Weights of {name}").is_visible()


def test_python_can_set_all_of_it(open_figure, beside):
    page = open_figure(TranslatorLab())
    mount_again(page, TranslatorLab())
    load(page)
    page.evaluate(
        """() => { model.set("sentence", "rolan ot meti balo"); model.set("greeting", "hoi");
        model.set("off", ["cross L1H0"]); model.set("head", "cross L0H3");
        model.set("instead", "mean"); model.set("word", 99); }"""
    )
    lab = TranslatorLab(
        "rolan ot meti balo", greeting="hoi", off=["cross L1H0"], instead="mean"
    )
    assert translation(page) == lab.translation
    assert not head(page, "cross L1H0").is_checked()
    assert page.get_by_label("a head that is off gives").input_value().startswith("its mean")
    assert "the end" in said(page, "Without cross L1H0 (their mean")
    page.evaluate("end()")
    assert page.evaluate("listening()") == 0
