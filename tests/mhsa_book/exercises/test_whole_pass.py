"""Chapter 09: what the exercises on the whole pass let pass, and what they find."""

from functools import partial

import pytest
import torch

from mhsa_book.exercises import check
from mhsa_book.exercises.reference import cross_attention, multi_head_attention, softmax
from mhsa_lib import functional


def wrong_view(x, W_Q, W_K, W_V, W_O, n_heads, mask):
    q, k, v = ((x @ W).reshape(len(x), n_heads, x.shape[1], -1) for W in (W_Q, W_K, W_V))
    z = softmax(q @ k.mT / q.shape[-1] ** 0.5, mask) @ v
    return z.transpose(1, 2).flatten(2) @ W_O


def attention_with(weights):
    def answer(x, W_Q, W_K, W_V, W_O, n_heads, mask):
        q, k, v = (functional.split_heads(x @ W, n_heads) for W in (W_Q, W_K, W_V))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        return functional.concat_heads(weights(scores, mask) @ v) @ W_O

    return answer


@pytest.mark.parametrize("forbidden", [-torch.inf, -1e9])
def test_a_softmax_that_is_wrong_for_a_blind_query_is_found(forbidden):
    def broken(scores, mask):
        masked = scores if mask is None else scores.masked_fill(~mask, forbidden)
        return masked.softmax(dim=-1)

    said = check("multi_head_attention", attention_with(broken)).text
    assert "mask = tensor([[False]])" in said
    assert check("multi_head_attention", attention_with(softmax))


def test_a_wrong_view_is_not_noticed_with_one_head():
    assert check("unnoticed", wrong_view)


def branches(x, W_Q, W_K, W_V, W_O, n_heads, mask):
    y = multi_head_attention(x, W_Q, W_K, W_V, W_O, n_heads, mask)
    if n_heads == 1:
        return y
    return 2 * y


def chooses(x, W_Q, W_K, W_V, W_O, n_heads, mask):
    y = multi_head_attention(x, W_Q, W_K, W_V, W_O, n_heads, mask)
    return 2 * y if n_heads - 1 else y


def compares(x, W_Q, W_K, W_V, W_O, n_heads, mask):
    return multi_head_attention(x, W_Q, W_K, W_V, W_O, n_heads, mask) * (1 + (n_heads > 1))


def matches(x, W_Q, W_K, W_V, W_O, n_heads, mask):
    y = multi_head_attention(x, W_Q, W_K, W_V, W_O, n_heads, mask)
    match n_heads:
        case 1:
            return y
    return 2 * y


@pytest.mark.parametrize("answer", [branches, chooses, compares, matches])
def test_a_mistake_that_asks_how_many_heads_there_are_is_refused(answer):
    assert "It asks how many heads" in check("unnoticed", answer).text


def test_a_mistake_whose_code_cannot_be_read_is_judged_by_its_numbers():
    assert check("unnoticed", partial(wrong_view))


def test_a_mistake_that_a_mask_shows_with_one_head_is_refused():
    def without_a_mask(mask, **given):
        return wrong_view(**given, mask=None)

    said = check("unnoticed", without_a_mask).text
    assert "With one head y is wrong already under a causal mask" in said


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (multi_head_attention, "With n_heads = 2, y is right"),
        (lambda x, **_: x, "With one head y is wrong already"),
        (lambda x, **_: x[0], "With n_heads = 1, y should be a tensor of (2, 5, 12)."),
    ],
)
def test_a_mistake_that_is_none_or_that_one_head_shows_is_refused(answer, said):
    assert said in check("unnoticed", answer).text


def test_keys_and_values_have_to_come_from_the_context():
    def exchanged(x, context, W_Q, W_K, W_V, W_O, n_heads):
        return cross_attention(context, x, W_Q, W_K, W_V, W_O, n_heads)

    assert not check("cross_attention", exchanged)


@pytest.mark.parametrize(
    ("number", "said"), [(1.0, "W_O is still to come"), (1.85, "row of W_O"), (2.65, "W_V")]
)
def test_a_first_number_on_the_wrong_way_is_told_which_way(number, said):
    assert said in check("first_number", number).text
