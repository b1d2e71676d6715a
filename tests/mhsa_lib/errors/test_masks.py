"""Masks that cannot be, the words they get, and the repairs these propose."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_lib import masks
from tests.helpers.drawn import rand
from tests.mhsa_lib.errors.kinds import both

pytestmark = pytest.mark.bothways


@both
@pytest.mark.parametrize(
    "dtype",
    [torch.int64, torch.int32, torch.uint8, torch.float32, torch.float64, torch.float16],
)
def test_a_mask_of_numbers(attention, dtype):
    name = str(dtype).replace(".", r"\.")
    words = (
        rf'mask has dtype {name}, not bool; True means "may attend"\. For numbers 0/1 use mask'
    )
    with pytest.raises(TypeError, match=words):
        attention(rand(2, 5, 12), mask=torch.ones(5, 5, dtype=dtype))


@both
def test_the_proposed_repairs_of_a_mask_of_numbers_work(attention):
    x, allowed = rand(2, 5, 12), masks.causal.dense(5, 5)
    additive = torch.zeros(5, 5).masked_fill(~allowed, -math.inf)
    expected = attention(x, mask=masks.causal)
    assert_close(attention(x, mask=allowed.int().bool()), expected)
    assert_close(attention(x, mask=masks.from_additive(additive)), expected)


@both
@pytest.mark.parametrize("mask", ["causal", 3, [[True]], masks.sliding_window])
def test_a_mask_that_is_neither_tensor_nor_predicate(attention, mask):
    words = rf"mask is a {type(mask).__name__}; pass a bool tensor or a predicate of mhsa_lib"
    with pytest.raises(TypeError, match=words):
        attention(rand(2, 5, 12), mask=mask)


@both
@pytest.mark.parametrize(
    ("shape", "repair"),
    [
        ((5, 4), "axes are aligned from the right, each must be equal or 1"),
        ((4, 5), "axes are aligned from the right"),
        ((2, 5), r"for one row of keys per sequence use mask\[:, None, None, :\]"),
        ((2, 5, 5), r"for one mask per sequence use mask\[:, None\]"),
        ((2, 2, 5, 5), "axes are aligned from the right"),
        ((1, 2, 3, 5, 5), "axes are aligned from the right"),
    ],
)
def test_a_mask_of_the_wrong_shape(attention, shape, repair):
    given = str(shape).replace("(", r"\(").replace(")", r"\)")
    words = rf"mask {given} does not fit scores \(2, 3, 5, 5\), which are .*; {repair}"
    with pytest.raises(ValueError, match=words):
        attention(rand(2, 5, 12), mask=torch.ones(shape, dtype=torch.bool))


@both
def test_lengths_for_another_batch(attention):
    with pytest.raises(
        ValueError, match=r"mask \(3, 1, 5, 5\) does not fit scores \(2, 3, 5, 5\)"
    ):
        attention(rand(2, 5, 12), mask=masks.padding([5, 4, 3]))


@both
def test_a_custom_rule_that_answers_with_numbers(attention):
    words = r"custom\(lambda\) answered torch\.int64, not a bool tensor; compare positions"
    with pytest.raises(TypeError, match=words):
        attention(rand(2, 5, 12), mask=masks.custom(lambda query, key: query - key))


@both
def test_a_mask_of_the_opposite_polarity_is_repaired_by_from_torch(attention):
    x = rand(1, 5, 12)
    blocked = nn.Transformer.generate_square_subsequent_mask(5) < 0  # torch's: True = blocked
    expected = attention(x, mask=masks.causal)
    assert not torch.allclose(attention(x, mask=blocked), expected)
    assert_close(attention(x, mask=masks.from_torch(blocked)), expected)


@pytest.mark.parametrize("flip", [masks.from_torch, masks.to_torch])
def test_only_a_bool_mask_has_a_polarity(flip):
    with pytest.raises(TypeError, match=r"mask has dtype torch\.float32, not bool"):
        flip(torch.ones(2, 2))


def test_an_additive_mask_with_something_else_in_it():
    words = "holds 0 and -inf only, but 1 is in it; a bias such as ALiBi is not a mask: add it"
    with pytest.raises(ValueError, match=words):
        masks.from_additive(torch.tensor([0.0, 1.0]))
    with pytest.raises(
        TypeError, match=r"a floating-point tensor of 0 and -inf, not torch\.bool"
    ):
        masks.from_additive(torch.tensor([True]))
