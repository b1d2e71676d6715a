"""Chapter 03: what the exercises on project let pass, and what they find."""

import pytest
import torch

from mhsa_book import examples
from mhsa_book.exercises import check

BACK = examples.attention().project.W_Q.weight.T.detach()[8:, 4:8]


def test_a_turn_forward_finds_the_next_word_at_any_strength():
    assert check("next_word", BACK.T)
    assert check("next_word", 2 * BACK.T)


@pytest.mark.parametrize(
    ("hands", "said"),
    [
        (BACK, 'Word 1, "animal", gives most weight, 1.00, to word 0, "the"'),
        (torch.eye(4), 'Word 1, "animal", gives most weight'),
        (BACK.T / 3, 'gives most weight, 0.80, to word 2, "avoided"; word 2 should get'),
        (BACK[0], "shape (4, 4)"),
    ],
)
def test_another_block_is_refused_with_the_word_that_it_misleads(hands, said):
    assert said in check("next_word", hands).text


COLUMNS = examples.COLUMNS.index


def head(quality=-9.0, size=9.0, out="living"):
    """A head in which what is a place asks for what is living."""
    W_Q, W_K, W_V = torch.zeros(12, 1), torch.zeros(12, 1), torch.zeros(12, 2)
    W_Q[COLUMNS("place")] = 1
    W_K[COLUMNS("living")], W_K[COLUMNS("quality")] = size, quality
    W_V[COLUMNS(out), 0] = W_V[COLUMNS("place"), 1] = 1
    return W_Q, W_K, W_V


def test_a_place_that_finds_the_living_noun_is_right():
    assert check("place_finds_living", head())
    assert check("place_finds_living", [W.numpy() for W in head(quality=-20.0)])


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (head(quality=0.0), "gives much weight to the quality"),
        (head(size=0.0, quality=0.0), "gives all words the same weight"),
        (head(size=2.0, quality=-2.0), "is asked for"),
        (head(out="verb"), "look at W_V"),
        (tuple(W.T for W in head()), "turn it round"),
        (head()[:2], "three matrices"),
        ((torch.zeros(12, 1), *head()[1:]), "gives all words the same weight"),
        ((head()[0], head()[0], head()[2]), "'street' finds itself"),
    ],
)
def test_a_head_for_places_hears_which_mistake_it_makes(answer, said):
    assert said in check("place_finds_living", answer).text


def test_equal_words_without_positions_have_equal_rows():
    assert check("different_rows", 4)
    assert "one row in x" in check("different_rows", 4).text


def test_the_query_on_paper_is_that_of_the_code():
    assert check("query_of_token_1", [-0.95, -0.45])
    assert "token 0" in check("query_of_token_1", [0, 1.45]).text
