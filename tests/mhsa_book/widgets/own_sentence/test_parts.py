"""What the page works out by itself: which head counts most, and where two texts meet."""

import random

from tests.mhsa_book.widgets.conftest import node


def test_effects_are_sorted_by_their_size_whatever_their_sign():
    draws = random.Random(0)
    cosines = [draws.uniform(-1, 1) for _ in range(72)]
    (found,) = node("own_sentence/effects", ("sorted", cosines, 0.25))
    by_size = sorted(range(72), key=lambda head: -abs(cosines[head] - 0.25))
    assert [one["head"] for one in found] == by_size
    assert [one["change"] for one in found] == [cosines[head] - 0.25 for head in by_size]
    assert [one["cosine"] for one in found] == [cosines[head] for head in by_size]


def test_two_texts_meet_in_their_longest_word():
    river = ["[CLS]", "the", "bank", "of", "the", "river", "[SEP]"]
    cases = [
        (["[CLS]", "a", "bank", "the", "[SEP]"], [2, 2]),
        (["[CLS]", "the", "[SEP]"], [1, 1]),
        (["[CLS]", "money", "[SEP]"], [0, 0]),
    ]
    found = node(
        "own_sentence/sentence_pair", *(("shared", river, other) for other, _ in cases)
    )
    assert found == [place for _, place in cases]
