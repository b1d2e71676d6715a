"""Chapter 09: what the exercises on the whole pass let pass, and what they find."""

import pytest
import torch

from mhsa_lib.exercises import check
from mhsa_lib.exercises.chapter_09 import cross_attention
from mhsa_lib.exercises.core import multi_head_attention


def wrong_view(x, W_Q, W_K, W_V, W_O, n_heads, mask):
    q, k, v = ((x @ W).reshape(len(x), n_heads, x.shape[1], -1) for W in (W_Q, W_K, W_V))
    z = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1) @ v
    return z.transpose(1, 2).flatten(2) @ W_O


def test_a_wrong_view_is_not_noticed_with_one_head():
    assert check("unnoticed", wrong_view)


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
