"""The exercises of chapter 02 find the mistakes that a first attempt makes."""

import pytest

from mhsa_book import examples
from mhsa_book.exercises import check


def test_another_pair_with_the_same_average_is_right_and_the_old_one_is_not():
    assert check("same_average", (0, 3.8 / 0.3))
    assert check("same_average", (3.8, 3.8))
    assert "4.0000, not 3.8000" in check("same_average", (4, 4)).text


@pytest.mark.parametrize("pair", [(2, 8), (5, 1), [5.0, 1.0], (5.00001, 1), (2.0001, 7.9998)])
def test_the_pairs_of_the_text_are_not_found_by_the_reader(pair):
    assert "find others" in check("same_average", pair).text


def test_the_uncut_head_adds_before_the_softmax_and_knows_its_scale():
    def uncut(scores):
        return (scores.sum(dim=0) / len(scores) ** 0.5).softmax(dim=-1)

    assert check("uncut", uncut)
    assert not check("uncut", lambda scores: scores.sum(dim=0).softmax(dim=-1))
    assert not check("uncut", lambda scores: scores.mean(dim=0).softmax(dim=-1))
    assert not check("uncut", lambda scores: scores.softmax(dim=-1).mean(dim=0))


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        (" ".join(examples.SENTENCES[0]), "One head puts 0.00 on animal"),
        ("the child left the dog too hungry", "finds no one noun"),
        ("hungry", "finds no one noun"),
        ("too the animal", "is no quality"),
        ("the cat left", "No vector for 'cat'"),
        ("", "one string"),
    ],
)
def test_a_sentence_for_one_head_is_told_what_it_lacks(sentence, said):
    assert said in check("one_head_is_enough", sentence).text


def test_one_head_is_enough_where_two_questions_agree():
    assert check("one_head_is_enough", "the street avoided the animal tired")
    assert check("one_head_is_enough", "the animal avoided the street wide")
