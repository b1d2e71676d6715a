"""The random numbers of the puzzles: the same every time, and no two alike."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book import examples


def test_the_tokens_are_the_same_every_time_and_does_not_touch_the_generator():
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    first, second = examples.random_tokens(), examples.random_tokens()
    assert torch.equal(first, second)
    assert torch.equal(torch.rand(1), expected)
    assert first.shape == (len(examples.SIX_WORDS), 12)


def test_their_numbers_have_one_decimal_and_tokens_differ():
    x = examples.random_tokens()
    assert_close(x, x.mul(10).round().div(10))
    assert len(x.unique(dim=0)) == 6


@pytest.mark.parametrize("bias", [False, True])
def test_the_attention_is_the_same_every_time(bias):
    first, second = examples.random_attention(bias=bias), examples.random_attention(bias=bias)
    assert torch.equal(first(examples.random_tokens()), second(examples.random_tokens()))
    assert not first.training
    assert (first.W_O.bias is not None) == bias


def test_no_two_weights_of_the_attention_are_alike():
    weights = [parameter for parameter in examples.random_attention().parameters()]
    for i, one in enumerate(weights):
        assert not any(torch.equal(one, other) for other in weights[:i])
