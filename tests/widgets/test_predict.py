"""The quiz: every way to write a shape is understood, and no mistake goes without its word."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mhsa_lib.widgets import Predict
from mhsa_lib.widgets.figure import code
from mhsa_lib.widgets.predict import predict as module
from tests.widgets.conftest import milliseconds, node

SHAPE = (2, 3, 6, 4)


def shape_quiz(**options):
    return Predict(
        "What shape is `q_heads`?",
        torch.zeros(SHAPE).shape,
        {(2, 6, 12): "That is `q`, before the split."},
        because="`head` moved in front of `query`.",
        axes=("batch", "head", "query", "d_head"),
        **options,
    )


# --- what is understood, in node -------------------------------------------------------------

WRITTEN = [
    "2, 3, 6, 4",
    "(2,3,6,4)",
    "2×3×6×4",
    "2 x 3 x 6 x 4",
    "2 3 6 4",
    "[2, 3, 6, 4]",
    "torch.Size([2, 3, 6, 4])",
    " ( 2 , 3 , 6 , 4 , ) ",
    "2*3*6*4",
    "2·3·6·4",
]


def test_every_way_to_write_a_shape_is_understood():
    found = node("predict/answers", *[("understood", text, list(SHAPE)) for text in WRITTEN])
    assert found == [{"given": list(SHAPE)}] * len(WRITTEN)


def test_a_shape_of_one_axis_and_of_none():
    assert node("predict/answers", ("understood", "(6,)", [6]), ("understood", "()", [6])) == [
        {"given": [6]},
        {"given": []},
    ]


def test_what_is_no_shape_is_explained():
    strange = [
        "batch, 6",
        "2,,3",
        "-1, 6",
        "2.5",
        "NaN",
        "∞",
        "9" * 400,
        "<b>2</b>",
        "שלום",
        "😀",
    ]
    for found, text in zip(
        node("predict/answers", *[("understood", t, [6]) for t in strange]),
        strange,
        strict=True,
    ):
        assert f"“{text[:24]}” cannot be read" in found["problem"]
        assert "whole numbers with commas" in found["problem"]
    (empty,) = node("predict/answers", ("understood", "  ", [6]))
    assert empty["problem"].startswith("Type a shape")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12),
        ("−3", -3),
        ("0.5", 0.5),
        ("0,5", 0.5),
        ("1,024", 1024),
        ("1 048 576", 1048576),
        ("-1,024.5", -1024.5),
        ("0,125", 0.125),
        ("1e3", 1000),
        (".5", 0.5),
    ],
)
def test_a_number_is_understood(text, number):
    assert node("predict/answers", ("understood", text, 7)) == [{"given": number}]


def test_what_is_no_number_is_explained():
    strange = ["four", "NaN", "Infinity", "1e999", "0x10", "1,2,3", "12 %", "", "x" * 1000]
    found = node("predict/answers", *[("understood", text, 7) for text in strange])
    assert all("Type a number in digits" in answer["problem"] for answer in found)
    assert max(len(answer["problem"]) for answer in found) < 100


# --- what is right, and the hint -------------------------------------------------------------

numbers = st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9)
shapes = st.lists(st.integers(0, 9), max_size=4)


def test_python_and_the_page_agree_on_what_is_right():
    pairs = []

    @given(st.tuples(numbers, numbers) | st.tuples(shapes, shapes))
    def collect(pair):
        pairs.append(pair)

    collect()
    pairs += [(x, y) for x, y in [(0.333, 1 / 3), (0.33, 1 / 3), (0.3, 1 / 3), (4, 4.0)]]
    pairs += [(p, p) for p, _ in list(pairs)]
    found = node(
        "predict/answers", *[("agrees", a, b) for a, b in json.loads(json.dumps(pairs))]
    )
    expected = [module._same(a, b) for a, b in pairs]
    assert found == expected
    assert True in found
    assert False in found


def test_a_number_that_is_not_whole_may_be_rounded():
    quiz = Predict("How large is a weight?", 1 / 3)
    for answer, right in [(0.33, True), (0.336, True), (0.3, False), (1, False)]:
        quiz.given = answer
        assert quiz.correct is right


def hints(*answers, axes=("batch", "head", "query", "d_head")):
    calls = [
        ("hint", answer, list(SHAPE), [[[2, 6, 12], "Before."]], axes) for answer in answers
    ]
    return node("predict/answers", *calls)


def test_a_known_mistake_is_named_and_an_unknown_one_gets_a_hint():
    assert hints([2, 6, 12], [2, 3, 6], [3, 2, 6, 4], [2, 3, 6, 5]) == [
        "Before.",
        "Its number of axes is 4, and yours 3.",
        "The sizes are right, their order is not.",
        "Look again at `d_head`.",
    ]


def test_no_hint_gives_a_size_away():
    assert hints([2, 3, 6, 5], axes=()) == [""]
    assert node("predict/answers", ("hint", 3, 4, [], []), ("hint", 5, 4, [], [])) == [
        "It is more.",
        "It is less.",
    ]


# --- the class -------------------------------------------------------------------------------


def test_the_answer_may_be_a_shape_a_number_a_tensor_or_an_option():
    assert shape_quiz().answer == [2, 3, 6, 4]
    assert shape_quiz().written == "(2, 3, 6, 4)"
    assert Predict("One axis?", (6,)).written == "(6,)"
    assert Predict("How many?", torch.tensor(1024)).written == "1,024"
    assert Predict("How low?", torch.tensor(-0.25)).written == "−0.25"
    assert Predict("Does it?", torch.tensor(True), options=[True, False]).answer == "True"
    assert Predict("Which?", (6, 12), options=[(12, 6), (6, 12)]).answer == "(6, 12)"


def test_setting_what_was_given_judges_it():
    quiz = shape_quiz()
    assert (quiz.given, quiz.correct, quiz.shown) == (None, None, False)
    quiz.given = [2, 6, 12]
    assert quiz.correct is False
    quiz.given = list(SHAPE)
    assert quiz.correct is True
    quiz.given = None
    assert quiz.correct is None


@pytest.mark.parametrize(
    ("error", "words", "make"),
    [
        (ValueError, "question is empty", lambda: Predict(" ", 4)),
        (ValueError, "contain the answer '5'", lambda: Predict("?", 5, options=[4, 6])),
        (ValueError, "must differ", lambda: Predict("?", 4, options=[4, 4])),
        (
            ValueError,
            r"\['7'\] are not among",
            lambda: Predict("?", 4, {7: "!"}, options=[4, 6]),
        ),
        (ValueError, "also called wrong", lambda: Predict("?", 4, {4: "!"})),
        (ValueError, "also called wrong", lambda: Predict("?", (6,), {(6,): "!"})),
        (ValueError, "also called wrong", lambda: Predict("?", 1 / 3, {0.3333: "!"})),
        (ValueError, "also called wrong", lambda: Predict("?", 4, {4: "!"}, options=[4, 6])),
        (ValueError, "not a shape", lambda: Predict("?", (-1, 6))),
        (ValueError, "must name each axis", lambda: Predict("?", (2, 6), axes=("query",))),
        (ValueError, "not finite", lambda: Predict("?", float("nan"))),
        (ValueError, "no partner in 'What is `z'", lambda: Predict("What is `z", 4)),
        (ValueError, "no partner", lambda: Predict("?", 4, {5: "That is `z"})),
        (TypeError, "neither a shape nor a number", lambda: Predict("?", "four")),
        (TypeError, "neither a shape nor a number", lambda: Predict("?", True)),
    ],
)
def test_a_quiz_that_cannot_be_right_is_refused(error, words, make):
    with pytest.raises(error, match=words):
        make()


def test_without_javascript_the_answer_waits_behind_a_click():
    html = Predict("Is `a < b`?", "yes & no", options=["yes & no", "<b>"]).html()
    assert "<noscript><p>Is <code>a &lt; b</code>?</p><ul><li>yes &amp; no</li>" in html
    assert "<details><summary>Show the answer</summary><p>Answer: yes &amp; no." in html
    assert "<b>" not in html.split("<script")[0]


def test_it_is_tiny():
    assert len(code("predict/predict", "js").encode()) <= 5 * 1024


# --- in the browser --------------------------------------------------------------------------


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


def option_quiz():
    return Predict(
        "What does `view` do?",
        "refuse",
        {"copy": "`reshape` would."},
        options=["copy", "scramble", "refuse"],
    )


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
    assert took < 50
