"""A head that a reader builds: which sentence it fails, and what is said about it."""

import pytest
import torch

from mhsa_book import examples, exercises
from mhsa_book.exercises import build_a_head

NAMES = examples.SEATED_COLUMNS
NOUN, ARTICLE, SEAT = NAMES.index("noun"), NAMES.index("article"), NAMES.index("seat 0")
ASKS, OFFERS = torch.arange(8)[:, None], torch.arange(8)


def head(noun=60.0, seats=None):
    """Matrices that ask for a noun, and for seats by a table (seat that asks, seat)."""
    W_Q, W_K, W_V = torch.zeros(15, 9), torch.zeros(15, 9), torch.zeros(15, 2)
    W_Q[ARTICLE, 0], W_K[NOUN, 0] = noun, 1
    W_Q[SEAT:, 1:] = torch.zeros(8, 8) if seats is None else seats
    W_K[SEAT:, 1:] = torch.eye(8)
    W_V[NAMES.index("living"), 0] = W_V[NAMES.index("place"), 1] = 1
    return W_Q, W_K, W_V


SOON = torch.where(OFFERS > ASKS, -9.0 * (OFFERS - ASKS), -99.0)
NEXT = torch.where(OFFERS == ASKS + 1, 30.0, 0.0)
SELF = torch.where(OFFERS == ASKS, 30.0, 0.0)
FAR = torch.where(OFFERS > ASKS, 9.0 * (OFFERS - ASKS), -99.0)


def changed(place, change):
    maps = list(head(60.0, SOON))
    maps[place] = change(maps[place])
    return tuple(maps)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (head(60.0, SOON), "Right"),
        (tuple(W.numpy() for W in head(60.0, SOON)), "Right"),
        (head(0.0), "all words the same weight"),
        (head(60.0), "both nouns much weight"),
        (head(0.0, NEXT), "'the' (word 0) finds the next word, 'tired' (word 1)"),
        (head(0.0, SELF), "finds itself"),
        (head(60.0, FAR), "the noun of another article"),
        (head(12.0, SOON / 4), "too near"),
        (changed(2, torch.zeros_like), "look at W_V"),
        (changed(2, lambda W: W.flip(1)), "z is (0.00, 1.00) and should be near (1.00, 0.00)"),
        (changed(0, lambda W: W.T), "turn it round with .T"),
        (changed(1, lambda W: W[:, :4]), "as many in both"),
        (changed(2, lambda W: W[:, :1]), "two numbers, living and place"),
        (changed(0, lambda W: W * torch.inf), "not finite"),
        (changed(0, lambda W: W[:5]), "should have 15 rows"),
        (head(60.0, SOON)[:2], "three matrices"),
        ((..., ..., ...), "in the place of the dots"),
    ],
)
def test_a_head_hears_which_mistake_it_makes(answer, said):
    assert said in repr(exercises.check("article_finds_noun", answer))


def test_next_word_alone_is_enough_for_the_first_sentence_only():
    W_Q, W_K, _ = head(0.0, NEXT)
    first, second = [build_a_head.map_of(W_Q, W_K, text) for text in build_a_head.SENTENCES[:2]]
    assert first[0].argmax() == 1  # animal
    assert second[0].argmax() == 1  # tired


def test_every_article_has_a_noun_behind_it():
    for sentence in build_a_head.SENTENCES:
        words = sentence.split()
        for i, word in enumerate(words):
            if word in ("the", "a", "this"):
                assert words[build_a_head.noun_of(words, i)] in (
                    *("animal", "street", "dog", "road", "river", "field"),
                )
