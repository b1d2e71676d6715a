"""Every head has a switch, by mouse, keys and finger, and does what it does in Python."""

import pytest

from mhsa_book.examples.language import TARGET
from mhsa_book.experiments.translation import heads_of
from mhsa_book.widgets import TranslatorLab
from mhsa_book.widgets.translator_lab import weights
from mhsa_book.widgets.translator_lab.translations import written
from mhsa_book.widgets.translator_lab.translator_lab import heads_by_name
from tests.mhsa_book.widgets.conftest import said
from tests.mhsa_book.widgets.translator_lab.reader import (
    CROSS,
    SENTENCE,
    head,
    translation,
    words,
)

HEADS = [repr(head) for head in heads_of(weights.MODEL())]


def test_switching_heads_off_by_mouse_marks_words_that_became_wrong(loaded):
    page, lab, whole = loaded(TranslatorLab()), TranslatorLab(off=CROSS), TranslatorLab()
    assert translation(page) == whole.translation == whole.right
    assert page.locator(".mhsa-wrong, .mhsa-extra, .mhsa-missing").count() == 0
    before = page.locator(".mhsa-map").inner_text()
    for name in CROSS:
        head(page, name).click()
    assert translation(page) == lab.translation != lab.right
    wrong = page.locator(".mhsa-said-words .mhsa-wrong")
    assert wrong.count() == 5
    assert wrong.locator("s").count() == wrong.locator("b").count() == 5
    assert set(wrong.locator(".mhsa-mark").all_inner_texts()) == {"✗"}
    assert sum("; wrong, right is dastu" in heard for heard in words(page)) == 3
    assert page.locator(".mhsa-map").inner_text() != before
    assert "5 wrong" in said(page, "Without 4 heads (0 instead)")
    page.get_by_role("button", name="All heads on").click()
    assert translation(page) == whole.right
    assert page.locator(".mhsa-map").inner_text() == before


def test_the_space_bar_switches_a_head_and_enter_a_layer(loaded):
    page, lab = loaded(TranslatorLab()), TranslatorLab(off=["decoder L0H2"])
    head(page, "decoder L0H2").focus()
    page.keyboard.press("Space")
    assert translation(page) == lab.translation
    assert "Without decoder L0H2" in said(page, "Without")
    page.get_by_role("button", name="cross L1: all off").focus()
    page.keyboard.press("Enter")
    assert [head(page, name).is_checked() for name in CROSS] == [False] * 4
    lab.off = ["decoder L0H2", *CROSS]
    assert translation(page) == lab.translation
    assert page.evaluate("document.activeElement.textContent") == "all on"
    page.keyboard.press("Enter")
    assert [head(page, name).is_checked() for name in CROSS] == [True] * 4


@pytest.mark.parametrize("instead", ["zero", "mean"])
def test_every_head_alone_does_what_it_does_in_python(loaded, instead):
    page = loaded(TranslatorLab())
    page.get_by_label("a head that is off gives").select_option(
        index=["zero", "mean"].index(instead)
    )
    assert page.get_by_role("checkbox").count() == len(HEADS) == 24
    for name in HEADS:
        head(page, name).uncheck()
        ids, logits = written(SENTENCE, "", [heads_by_name()[name]], instead)
        assert translation(page) == " ".join(TARGET.words(ids[0])), name
        sure = logits[0].softmax(dim=-1).gather(-1, ids[0, :, None])[:, 0].tolist()
        chances = map(float, page.locator(".mhsa-chance").all_inner_texts())
        assert [*chances] == pytest.approx(sure, abs=0.006), name
        head(page, name).check()


def test_a_finger_switches_a_head(loaded):
    page = loaded(TranslatorLab(), width=390, has_touch=True)
    head(page, "cross L0H1").tap()
    assert not head(page, "cross L0H1").is_checked()
    assert "Without cross L0H1" in said(page, "Without")
