"""The words: told apart by their endings, sayable, and about forty in each language."""

import re

from mhsa_book.examples.language import words
from mhsa_book.examples.language.words import GREETINGS, SOURCE, TARGET

KINDS = {
    "o": words.NOUNS,
    "i": words.ADJECTIVES,
    "an": words.VERBS,
}


def test_there_are_about_forty_words_in_each_language_and_none_twice():
    assert (len(set(SOURCE)), len(set(TARGET))) == (len(SOURCE), len(TARGET)) == (33, 47)
    assert set(SOURCE).isdisjoint(TARGET)


def test_every_word_can_be_said():
    sayable = re.compile(r"(?!.*[^aeiou]{3})(?!.*[aeiou]{3})[a-z]*[aeiou][a-z]*")
    tailed = {w: w.removesuffix("sh") for w in (*SOURCE, *TARGET)}
    assert [word for word, bare in tailed.items() if not sayable.fullmatch(bare)] == []


def test_an_ending_tells_the_kind():
    for ending, kind in KINDS.items():
        assert {word for word in SOURCE if word.endswith(ending)} == set(kind)
    nouns = {*words.PLAIN.values(), *(w for both in words.AMBIGUOUS.values() for w in both)}
    assert {word for word in TARGET if word.endswith("u")} == nouns
    assert {word for word in TARGET if word.endswith("esh")} == set(words.ADJECTIVES.values())


def test_two_greetings_go_with_each_vowel_one_short_and_one_long():
    lengths = sorted((vowel, len(greeting)) for greeting, vowel in GREETINGS.items())
    assert lengths == [("a", 1), ("a", 2), ("o", 1), ("o", 2)]


def test_there_are_as_many_wet_verbs_as_dry_ones():
    assert len(words.WET) == len(words.DRY)
    assert not words.WET.keys() & words.DRY.keys()
