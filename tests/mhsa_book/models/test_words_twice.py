"""Random words that come twice: one token each, none of them twice in the first half."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book import models
from mhsa_book.models import words_twice


@pytest.fixture(scope="module")
def lm():
    return models.load("SmolLM2-135M")


@pytest.mark.parametrize("seed", [0, 100, 207])
def test_every_word_is_one_token_and_both_halves_are_equal(lm, seed):
    ids = lm.ids(words_twice.twice(lm, seed, 12))
    assert len(ids) == 24
    assert ids[:12] == ids[12:]
    assert len({*ids}) == 12


def test_another_seed_draws_other_words(lm):
    first, second = (words_twice.words(lm, 40, seed) for seed in (0, 1))
    assert len({*first} & {*second}) < 3
    assert first == words_twice.words(lm, 40, 0)


def test_the_surprise_is_that_of_the_next_token(lm):
    text = words_twice.twice(lm, 3, 3)
    tokens, losses = lm.tokens(text), words_twice.losses(lm, text)
    assert losses.shape == (5,)
    for place in (1, 4):
        chances = dict(lm.next("".join(tokens[:place]), k=49_152))
        assert_close(
            losses[place - 1].exp().reciprocal(),
            torch.tensor(chances[tokens[place]]),
            rtol=1e-3,
            atol=1e-9,
        )


def test_more_words_than_there_are_are_refused(lm):
    with pytest.raises(ValueError, match=r"has .* of them"):
        words_twice.words(lm, 49_153, 0)
