"""A reader answers a quiz: typed, picked, shown, and printed."""

import pytest

from mhsa_book.widgets import Predict
from tests.mhsa_book.widgets.conftest import allowed, milliseconds
from tests.mhsa_book.widgets.quizzes import option_quiz, shape_quiz


def said(page):
    return page.locator("[role=status]").inner_text()


def test_a_shape_is_typed_and_checked_with_enter(open_figure):
    page = open_figure(shape_quiz())
    assert said(page).strip() == ""
    field = page.get_by_label("Your shape")
    field.fill("2, 6, 12")
    field.press("Enter")
    assert said(page).strip() == "✗ Not this. That is q, before the split."
    assert page.locator("[role=status] code").first.inner_text() == "q"
    field.fill("(2, 3, 6, 5)")
    page.get_by_role("button", name="Check").click()
    assert "Look again at d_head." in said(page)
    field.fill("torch.Size([2, 3, 6, 4])")
    field.press("Enter")
    assert "✓ Right." in said(page)
    assert "Answer: (2, 3, 6, 4). head moved in front of query." in said(page)
    assert page.get_by_role("button", name="Show the answer").count() == 0


def test_what_cannot_be_read_is_explained_and_not_scored(open_figure):
    page = open_figure(Predict("How many?", 4))
    field = page.get_by_label("Your number")
    field.fill("7")
    field.press("Enter")
    for text in ["", "NaN", "<img src=x onerror=alert(1)>", "שלום", "👩‍👩‍👧" * 20, "9" * 1000]:
        field.fill(text)
        field.press("Enter")
        assert "Type a number in digits" in said(page)
        assert "Not this" not in said(page)
        assert field.get_attribute("aria-invalid") == "true"
    assert page.locator("[role=status] img").count() == 0
    field.fill("7")
    field.press("Enter")
    assert "✗ Not this. It is less." in said(page)
    assert field.get_attribute("aria-invalid") is None


def test_an_option_is_picked_with_the_keyboard(open_figure):
    page = open_figure(option_quiz())
    page.get_by_role("button", name="Check").press("Enter")
    assert said(page).strip() == "Pick an answer first."
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")  # the last of the group, from behind
    page.keyboard.press("ArrowDown")  # round to the first
    page.keyboard.press("Enter")
    assert "✗ Not this. reshape would." in said(page)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert "✓ Right." in said(page)
    assert page.get_by_role("group", name="Predict What does view do?").count() == 1


def test_the_answer_can_be_shown_and_gets_the_focus(open_figure):
    page = open_figure(option_quiz())
    assert page.locator(".mhsa-solution").is_hidden()
    page.get_by_role("button", name="I cannot tell: show the answer").press("Enter")
    assert "Answer: refuse." in said(page)
    assert page.evaluate("document.activeElement.textContent").startswith("Answer: refuse")


def test_a_quiz_that_was_answered_is_drawn_answered(open_figure):
    quiz = shape_quiz()
    quiz.given = [2, 6, 12]
    page = open_figure(quiz)
    assert page.get_by_label("Your shape").input_value() == "2, 6, 12"
    assert "before the split" in said(page)
    picked = option_quiz()
    picked.given, picked.shown = "scramble", True
    page = open_figure(picked)
    assert page.get_by_label("scramble").is_checked()
    assert "Answer: refuse" in said(page)


def test_two_quizzes_on_a_page_have_their_own_options(open_figure):
    class Two:
        def html(self):
            return option_quiz().html() + option_quiz().html()

    page = open_figure(Two())
    page.get_by_label("copy").nth(0).check()
    page.get_by_label("refuse").nth(1).check()
    assert page.get_by_label("copy").nth(0).is_checked()


def test_text_is_text(open_figure):
    nasty = "<img src=x onerror=alert(1)> `</script><script>alert(1)</script>` \u202e&amp;"
    page = open_figure(Predict(nasty, nasty, options=[nasty, "👩‍👩‍👧"], because=nasty))
    assert page.locator("legend").inner_text() == "Predict " + nasty.replace("`", "")
    assert page.locator(".mhsa-body img, .mhsa-body script").count() == 0


def test_on_paper_stand_question_and_answer(open_figure):
    page = open_figure(shape_quiz())
    page.emulate_media(media="print")
    assert page.locator(".mhsa-solution").inner_text().startswith("Answer: (2, 3, 6, 4).")
    assert page.locator(".mhsa-solution").is_visible()
    assert page.get_by_role("button").count() == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_a_phone(open_figure, theme):
    quiz = Predict("`" + "a_long_name_" * 8 + "`?", "b" * 90, options=["b" * 90, "c"])
    page = open_figure(quiz, width=390, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_check_takes_no_time(open_figure, report):
    page = open_figure(option_quiz())
    page.get_by_label("copy").check()
    took = milliseconds(page, "form [type=submit]", "click")
    report(f"predict: {took:.1f} ms a check")
    assert took < allowed(page, 50)
