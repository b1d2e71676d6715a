"""The exercises of chapter 01 find the mistakes that a first attempt makes."""

import torch

from mhsa_book.exercises import check


def head(scale, x, W_Q, W_K, W_V):
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    return torch.softmax(q @ k.mT * scale(q), dim=-1) @ v


def test_one_head_knows_its_scale_and_its_axis():
    def over_queries(x, W_Q, W_K, W_V):
        q, k, v = x @ W_Q, x @ W_K, x @ W_V
        return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-2) @ v

    def fitting(**given):
        return head(lambda q: q.shape[-1] ** -0.5, **given)

    assert check("one_head", fitting)
    assert not check("one_head", lambda **given: head(lambda q: 4**-0.5, **given))
    assert not check("one_head", lambda **given: head(lambda q: 1, **given))
    assert not check("one_head", over_queries)


def test_one_head_divides_by_the_columns_that_were_compared():
    def by_the_values(x, W_Q, W_K, W_V):
        return head(lambda q: W_V.shape[-1] ** -0.5, x, W_Q, W_K, W_V)

    assert not check("one_head", by_the_values)


def test_a_sentence_with_one_candidate_is_told_where_it_looks():
    said = check("half_and_half", "the animal avoided the street too tired").text
    assert said == "Not yet. The largest weight is 1.00, on 'animal' (word 1)."
    assert check("half_and_half", "a dog left the bird so very hungry")
    for nothing_fits in ("too tired", "hungry tired", "street tired"):
        assert "finds nothing that fits" in check("half_and_half", nothing_fits).text
    assert "No vector for 'cat'" in check("half_and_half", "the cat left the dog").text


def test_a_fraction_is_near_enough_and_a_rounded_one_is_not():
    assert check("weight_of_animal", 2981 / 2987)
    assert check("weight_of_animal", torch.tensor([0.0] * 6 + [8.0]).softmax(dim=0)[-1])
    assert not check("weight_of_animal", 0.99)
