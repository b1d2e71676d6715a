"""Chapter 13: what is said about heads, streams and texts of the Repeater."""

import pytest
import torch

from mhsa_book.exercises import check
from mhsa_book.exercises.induction import fresh, likeliest_without, model
from mhsa_book.models import repeater, repetition
from mhsa_lib import edit, masks, trace

X = model().embed(fresh().inputs)
FIRST, SECOND = model().layers


def wrote(*heads, mask=masks.causal):
    """What some heads of layer 0 write, each of them silenced or not as the chapter does."""
    with trace(FIRST) as wires:
        FIRST(X, mask=mask)
    keep = torch.tensor([head in heads for head in range(4)])
    return FIRST.W_O(FIRST.concat(wires["z"] * keep[:, None, None]))


def accuracy_of_keys(before):
    with edit(SECOND, "k", lambda _: SECOND.project.W_K(before)):
        return repetition.accuracy(model()(fresh().inputs), fresh())


def test_the_head_that_looks_two_back_is_the_one():
    assert check("hesitating_head", 3)
    assert check("hesitating_head", torch.tensor(3))


def test_what_is_said_of_the_other_heads_is_so():
    assert [likeliest_without(head)[0] for head in (0, 1)] == ["4", "4"]
    assert not {"4", "6"} & set(likeliest_without(2))
    for head, said in ((0, "says 4 as before"), (1, "says 4 as before"), (2, "forgets both")):
        assert said in check("hesitating_head", head).text
    assert "0 to 3" in check("hesitating_head", 4).text
    assert "number only" in check("hesitating_head", "L0H3").text


def test_two_ways_to_leave_the_note_out_are_right():
    assert check("without_the_note", X + wrote(0, 1, 3))
    assert check("without_the_note", X + FIRST(X, mask=masks.causal) - wrote(2))


def test_the_accuracies_that_are_said_are_measured():
    left = [
        accuracy_of_keys(before) for before in (X + wrote(0, 1, 3), X + wrote(0, 1, 2, 3), X)
    ]
    said = check("without_the_note", X + wrote(0, 1, 3)).text
    assert "0.86, of 0.99" in said
    assert "0.24" in said
    assert [f"{value:.2f}" for value in left] == ["0.86", "0.99", "0.24"]


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (X, "nothing of layer 0"),
        (X + wrote(0, 1, 2, 3), "Nothing is missing"),
        (wrote(0, 1, 3), "Add it to x"),
        (wrote(2), "and without x"),
        (X + wrote(2), "and no other"),
        (X - wrote(2), "never in x"),
        (X + wrote(0, 2, 3), "leaves out the part of L0H1"),
        (X + wrote(0, 1, 2), "leaves out the part of L0H3"),
        (X + wrote(0, 1, 3, mask=None), "another stream"),
        (X[0] + wrote(0, 1, 3)[0], "The shape is (64, 64)"),
        (None, "NoneType"),
        ("x", "It is a str"),
        (lambda: 1 / 0, "It is a function"),
    ],
)
def test_another_stream_hears_which_it_is(before, said):
    assert said in check("without_the_note", before).text


@pytest.mark.parametrize("text", ["axp bxq ax", "AXP BXQ AX", "3xp 5xq 3x"])
def test_texts_in_which_the_pair_decides_are_right(text):
    assert check("first_wins", text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("xp xq x", "its first guess is"),
        ("axp bxq a", "end in x"),
        ("axp bx", "No x is followed by q."),
        ("bxq ax", "No x is followed by p."),
        ("axq bxp bx", "the other way round"),
        ("axp bxq axp ax", "another xp"),
        ("", "the text is empty"),
        ("axp – bxq ax", "character 5"),
        ("axp bxq ax" * 7, "70 characters"),
        (None, "NoneType"),
        (["axp bxq ax"], "It is a list"),
    ],
)
def test_other_texts_hear_what_is_missing(text, said):
    assert said in check("first_wins", text).text


def test_the_guess_of_the_model_is_the_one_that_is_said():
    probabilities = model().predict("xp xq x")[-1]
    (sign,) = repeater.spell(probabilities.topk(1).indices)
    said = check("first_wins", "xp xq x").text
    assert f"first guess is {sign}, with {probabilities.max():.2f}" in said
