"""Sentences are drawn evenly, the same from the same seed, and have 4 to 12 words."""

from collections import Counter
from functools import cache
from random import Random

import pytest

from mhsa_book.examples.language import SOURCE, TARGET, draw, pairs
from mhsa_book.examples.language.drawing import fits
from mhsa_book.examples.language.grammar import Sentence
from mhsa_book.examples.language.words import AMBIGUOUS, GREETINGS, NOUNS, VERBS

many = pytest.mark.nohook  # of thousands of small calls


@cache
def drawn():
    return pairs(2000)


@many
def test_lengths_are_4_to_12_in_both_languages_and_all_occur():
    assert {len(pair.source) for pair in drawn()} == set(range(4, 13))
    assert {len(pair.target) for pair in drawn()} == set(range(4, 13))


@many
def test_the_same_seed_draws_the_same_and_another_others():
    assert pairs(20) == pairs(20) == drawn()[:20]
    assert pairs(20, seed=1) != pairs(20)


def test_what_is_drawn_does_not_change_between_versions():
    known = "sevan ip lari tino ot kuni gimo → hai shoru tovesh terru terru pulesh fena"
    assert repr(pairs(1, seed=7)[0]) == known


def test_pairs_are_drawn_one_after_the_other():
    random = Random(7)
    assert [draw(random) for _ in range(20)] == pairs(20, seed=7)


@many
def test_every_word_is_drawn():
    assert {word for pair in drawn() for word in pair.source} == set(SOURCE.tokens[3:])
    assert {word for pair in drawn() for word in pair.target} == set(TARGET.tokens[3:])


@many
def test_greetings_are_even_whatever_the_length():
    for long in (False, True):
        greetings = Counter(
            pair.target[0] for pair in drawn() if (len(pair.source) > 8) == long
        )
        total = sum(greetings.values())
        assert all(abs(n / total - 0.25) < 0.05 for n in greetings.values()), greetings
        assert greetings.keys() == {greeting[0] for greeting in GREETINGS}


@many
def test_nouns_of_both_kinds_and_all_verbs_are_even():
    words = Counter(word for pair in drawn() for word in pair.source)
    nouns = sum(words[noun] for noun in NOUNS)
    assert abs(sum(words[noun] for noun in AMBIGUOUS) / nouns - 0.5) < 0.03
    verbs = [words[verb] for verb in VERBS]
    assert max(verbs) < 1.25 * min(verbs)


@many
def test_it_seldom_repeats_itself():
    assert len({pair.source for pair in drawn()}) > 1700


@pytest.mark.parametrize(
    ("text", "whether"),
    [
        ("rolan ip balo", False),  # 3 words of source
        ("rolan ip balo ip tino", True),
        ("rolan ul meti balo ul lari tino", True),  # 9 words, 11 with the longest greeting
        ("rolan ul balo ul tino ke rolan ip balo", True),  # 12 with the longest greeting
        ("rolan ul balo ul tino ke rolan ip lari balo", False),  # 13
        ("rolan ip lari balo ip tino ke rolan ip balo ip tino", True),  # 12 of source
        ("rolan ip lari balo ip tino ke rolan ip balo ip goti tino", False),
    ],
)
def test_what_fits(text, whether):
    assert fits(Sentence.read(text)) == whether


@pytest.mark.bothways
def test_a_number_of_pairs_that_is_none():
    with pytest.raises(ValueError, match="n=0 is not a size"):
        pairs(0)
