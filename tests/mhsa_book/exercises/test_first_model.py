"""Chapter 00: what is said about rows, prompts and heads."""

import itertools

import pytest

from mhsa_book.exercises import check, first_model
from mhsa_book.widgets import NineHeads
from mhsa_book.widgets.nine_heads.cases import chances

pytestmark = pytest.mark.nohook  # 30 layers a pass; tests of small models check shapes


def test_the_nine_heads_are_those_of_the_first_page():
    assert [list(head) for head in first_model.NINE] == NineHeads().heads


@pytest.mark.parametrize("pair", [[13, 1], (13, 1)])
def test_the_rows_that_change_are_counted(pair):
    assert check("changed_rows", pair)


@pytest.mark.parametrize(
    ("pair", "word"),
    [([14, 1], "When"), ([13, 13], "Without"), ([1, 1], "receive"), ([13, 0], "itself")],
)
def test_a_wrong_number_of_rows_hears_why(pair, word):
    said = check("changed_rows", pair)
    assert not said
    assert word in said.text


def test_two_prompts_that_end_alike_and_go_on_differently_are_right():
    assert check("blind_pair", ("The opposite of hot is", "The opposite of black is"))


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        (
            ("The opposite of hot is", "The opposite of black was"),
            "they end in ' is' and ' was'",
        ),
        (("The opposite of hot is", "The opposite of hot is"), "after both"),
        (("The capital of France is", "The opposite of hot is"), "is in the chapter"),
        (("It is", "The opposite of hot is"), "at least three words"),
        ("The opposite of hot is", "Two prompts"),
    ],
)
def test_other_pairs_hear_why(pair, said):
    verdict = check("blind_pair", pair)
    assert not verdict
    assert said in verdict.text


def test_four_heads_are_right_where_the_first_page_says_so():
    groups = {
        group: bool(chances(group)[1] > chances(group)[0])
        for group in itertools.combinations(range(9), 4)
    }
    assert sum(groups.values()) == 4
    wins = next(group for group, john in groups.items() if john)
    fails = next(group for group, john in groups.items() if not john)
    for group, right in {wins: True, fails: False}.items():
        assert bool(check("four_heads", [first_model.NINE[k] for k in group])) is right


@pytest.mark.parametrize(
    ("heads", "said"),
    [
        ([(23, 3), (20, 0), (19, 2)], "Four different heads"),
        ([(23, 3), (20, 0), (19, 2), (19, 2)], "Four different heads"),
        ([(23, 3), (20, 0), (19, 2), (0, 0)], "[(0, 0)] are not among the nine"),
    ],
)
def test_other_groups_hear_why(heads, said):
    assert said in check("four_heads", heads).text
