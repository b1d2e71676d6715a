"""Sentences with notes: the grammar, who is meant, and the pairs that training never shows."""

import pytest
import torch

from mhsa_book import examples
from mhsa_book.examples import notes

LIVING = {"animal", "child", "dog", "bird"}
FOR_LIVING = {"tired", "hungry", "afraid"}


def words_of(drawn):
    return [[notes.WORDS[i] for i in ids] for ids in drawn.ids.tolist()]


@pytest.mark.parametrize("unseen", [False, True])
def test_the_noun_that_is_meant_fits_the_last_word(unseen):
    drawn = notes.draw(400, torch.Generator().manual_seed(0), unseen=unseen)
    assert drawn.notes.shape == (400, 7, notes.N_NOTE)
    for i, words in enumerate(words_of(drawn)):
        meant = int(drawn.meant[i])
        assert {words[1] in LIVING, words[4] in LIVING} == {True, False}
        assert (words[meant] in LIVING) == (words[6] in FOR_LIVING)
        assert drawn.wanted[i].equal(drawn.notes[i, meant])
    assert set(drawn.meant.tolist()) == {1, 4}


@pytest.mark.parametrize("unseen", [False, True])
def test_a_pair_that_is_held_back_is_in_all_or_in_none(unseen):
    drawn = notes.draw(2000, torch.Generator().manual_seed(1), unseen=unseen)
    pairs = [
        any({noun, quality} <= {*words} for noun, quality in notes.UNSEEN)
        for words in words_of(drawn)
    ]
    assert len(pairs) == 2000
    assert set(pairs) == {unseen}
    if not unseen:
        assert {word for words in words_of(drawn) for word in words} == {*notes.WORDS}


def test_every_word_carries_another_note_and_a_seed_gives_it_again():
    first, again = (notes.draw(5, torch.Generator().manual_seed(2)) for _ in range(2))
    assert len(first.notes.unique()) == 5 * 7 * notes.N_NOTE
    assert all(a.equal(b) for a, b in zip(first, again, strict=True))


def test_the_sentences_of_the_chapter_are_held_back():
    ours = notes.of(examples.SENTENCES)
    assert ours.meant.tolist() == [1, 4]
    for pair, words in zip(notes.UNSEEN, examples.SENTENCES, strict=True):
        assert {*pair} <= {*words}


@pytest.mark.parametrize("sentence", ["the animal left", "the animal left the dog too tired"])
def test_another_sentence_is_refused(sentence):
    with pytest.raises(ValueError, match="is no sentence of the grammar; its words are, in"):
        notes.of([sentence.split()])


def test_an_unknown_word_is_named():
    with pytest.raises(ValueError, match="No id for 'cat'; choose words from"):
        notes.ids_of("the cat")
