"""Chapter 27: what is said about smaller caches, equal ones, and disguised attention."""

import pytest
import torch

from mhsa_book import examples
from mhsa_book.conversions.to_collaborative import to_collaborative
from mhsa_book.exercises import check
from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention
from mhsa_lib.variants import GroupedQueryAttention


def test_three_caches_are_smaller():
    assert check("smaller_caches", {"GQA", "MLA", "collaborative"})


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"GQA", "MLA"}, "narrower for all heads"),
        ({"GQA"}, "smaller still"),
        ({"GQA", "MLA", "mixture"}, "keeps the keys of all"),
        ({"MLA"}, "is not it"),
    ],
)
def test_another_set_hears_why(answer, said):
    assert said in check("smaller_caches", frozenset(answer)).text


def test_1984_columns_are_as_much_as_eight_heads():
    assert check("equal_latent", 2 * 8 * 128 - 64)
    assert "rotated key" in check("equal_latent", 2048).text
    assert "a key and a value" in check("equal_latent", 8 * 128 - 64).text


def test_states_are_paid_back_after_49_thousand_tokens():
    fixed = 69 * (96 * 128 * 128 * 4 + 3 * 96 * 128 * 4 * 2) - 18 * 128 * 2 * 8 * 64 * 2
    saved = 18 * 2 * 8 * 64 * 2 - 24 * 576 * 2  # bytes of every further token
    assert 48_000 < fixed / saved < 49_000
    assert check("crossing", 49)
    assert "divide by the difference" in check("crossing", 17).text


def pair():
    plain = examples.random_attention()
    other = GroupedQueryAttention(12, 3, 3)
    other.load_state_dict(plain.state_dict())
    return plain, other


def test_a_variant_with_the_same_function_is_right():
    assert check("disguised", pair())
    plain = pair()[0]
    assert check("disguised", (plain, to_collaborative(plain, 12)))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda: pair()[1], "Hand over both"),
        (lambda: pair()[::-1], "is to be a MultiHeadAttention"),
        (lambda: (pair()[0], pair()[0]), "none of the variants"),
        (lambda: (pair()[0], FusedMultiHeadAttention.from_attention(pair()[0])), "none of the"),
        (lambda: (pair()[0], GroupedQueryAttention(12, 3, 3)), "The outputs differ by"),
        (lambda: (MultiHeadAttention(24, 3), pair()[1]), "12 wide"),
        (lambda: (pair()[0], torch.ones(2)), "is no layer"),
    ],
)
def test_what_is_no_disguise_hears_why(answer, said):
    assert said in check("disguised", answer()).text
