"""Guesses that know parts of speech, number and persons, on sentences small enough to read."""

from typing import NamedTuple

import torch

from mhsa_book import roles
from mhsa_book.examples import annotated
from mhsa_book.roles import guesses
from mhsa_book.roles.arcs import Arcs


class Word(NamedTuple):
    form: str
    upos: str
    relation: str = "dep"
    head: int | None = None
    antecedent: int | None = None


class Sentence(NamedTuple):
    words: list[Word]
    text: str = ""


DOGS = Sentence(
    [
        Word("The", "DET"),
        Word("old", "ADJ"),
        Word("dogs", "NOUN", "nsubj"),
        Word("saw", "VERB"),
        Word("a", "DET"),
        Word("king", "NOUN", "obj"),
        Word("and", "CCONJ"),
        Word("a", "DET"),
        Word("bone", "NOUN", "conj"),
        Word("behind", "ADP"),
        Word("him", "PRON"),
    ]
)


def arc(word, partner):
    return Arcs(*torch.tensor([[0], [word], [partner], [len(DOGS.words)]]))


def right(found):
    return {name for name, hit in found.items() if hit.item()}


def test_the_nearest_earlier_word_of_a_part_of_speech():
    assert right(guesses.earlier_of_a_tag([DOGS], arc(2, 0))) == {"previous DET"}
    assert right(guesses.earlier_of_a_tag([DOGS], arc(5, 3))) == {
        "previous VERB",
        "previous verb or adjective",
        "previous verb",
    } | {"previous noun or verb"}
    assert right(guesses.earlier_of_a_tag([DOGS], arc(5, 0))) == set()  # another DET is nearer


def test_on_either_side_the_nearest_is_taken_and_of_two_the_later():
    assert right(guesses.on_either_side([DOGS], arc(5, 3))) == {
        "nearest verb",
        "nearest noun or verb",
        "nearest verb or adjective",
    }
    between = arc(4, 5)  # "a" between "saw" and "king"
    assert right(guesses.on_either_side([DOGS], between)) == {
        "nearest noun",
        "nearest noun or verb",
    }


def test_number_and_person_are_asked_for():
    king = right(guesses.agreeing_nouns([DOGS], arc(10, 5)))
    assert {"first noun, number", "first noun, number and person"} <= king
    assert "nearest noun, number and person" in king
    assert "nearest noun, number" not in king  # that is the bone
    assert right(guesses.agreeing_nouns([DOGS], arc(10, 2))) == set()


def test_plurals_and_persons_of_the_annotated_sentences():
    sentences = annotated.sentences()
    pronouns = roles.antecedents(sentences)
    nouns = [
        (sentences[i].words[j].form.lower(), sentences[i].words[k])
        for i, j, k in zip(*(field.tolist() for field in pronouns[:3]), strict=True)
    ]
    for said, noun in nouns:
        assert guesses.is_plural(noun) == (said in guesses.PLURAL_PRONOUNS), noun
        if said in guesses.PERSON_PRONOUNS or said in {"it", "its"}:
            assert guesses.is_person(noun) == (said in guesses.PERSON_PRONOUNS), noun


def test_what_guesses_hit_a_rare_word_by_chance():
    rare = torch.zeros(len(DOGS.words), dtype=torch.bool)
    rare[8] = True
    chances = guesses.on_the_rare([DOGS], [rare])
    others = [i for i in range(11) if i != 8]  # the rare word itself has no other to find
    content, nouns = [1, 2, 3, 5, 8], [2, 5, 8]
    expected = {
        "any content word": [1 / (5 - (i in content)) for i in others],
        "any noun": [1 / (3 - (i in nouns)) for i in others],
        "the longest word": [0.0] * 8 + [1 / 3, 0.0],  # from "behind": dogs, king, bone
    }
    for name, each in expected.items():
        assert torch.allclose(chances[name], torch.tensor(each)), name
    rare[9] = True
    longest = guesses.on_the_rare([DOGS], [rare])["the longest word"]
    assert torch.allclose(longest, torch.tensor([1.0] * 9 + [1 / 3, 1.0]))


def test_the_nearest_earlier_noun_or_pronoun():
    after = DOGS._replace(words=[*DOGS.words, Word("barked", "VERB")])
    assert guesses.earlier_noun_or_pronoun([after], arc(11, 10)).tolist() == [True]  # "him"
    assert guesses.earlier_noun_or_pronoun([after], arc(11, 8)).tolist() == [False]
    assert guesses.earlier_noun_or_pronoun([DOGS], arc(3, 2)).tolist() == [True]
