"""What is understood as a shape or a number, what is right, and the hints."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mhsa_book.widgets import Predict
from mhsa_book.widgets.predict import predict as module
from tests.mhsa_book.widgets.conftest import node
from tests.mhsa_book.widgets.quizzes import SHAPE

# --- what is understood ----------------------------------------------------------------------

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
