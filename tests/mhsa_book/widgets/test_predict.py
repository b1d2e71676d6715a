"""The quiz: its answer, what it judges, and what cannot be right is refused."""

import pytest
import torch

from mhsa_book.widgets import Predict
from mhsa_book.widgets.figure import code
from tests.mhsa_book.widgets.quizzes import SHAPE, shape_quiz


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


def test_its_plain_text_asks_and_does_not_answer():
    quiz = Predict("How many?", 1729, {12: "A dozen."}, because="Two cubes.")
    data, _ = quiz._repr_mimebundle_()
    assert data["text/plain"] == repr(quiz) == "Predict('How many?')"


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
