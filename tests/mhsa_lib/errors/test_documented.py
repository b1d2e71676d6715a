"""Inputs that look bad and have a documented result."""

import math

import pytest
import torch
from torch.testing import assert_close

from mhsa_lib import masks
from tests.helpers.drawn import rand
from tests.mhsa_lib.errors.kinds import both

pytestmark = pytest.mark.bothways


@both
def test_an_empty_sequence_gives_an_empty_result(attention):
    assert attention(rand(2, 0, 12)).shape == (2, 0, 12)
    assert attention(rand(0, 5, 12), mask=masks.causal).shape == (0, 5, 12)


@both
def test_nothing_to_look_at_gives_the_output_bias(attention):
    bias = attention.W_O.bias.expand(2, 5, 12)
    assert_close(attention(rand(2, 5, 12), rand(2, 0, 12)), bias)
    assert_close(attention(rand(2, 5, 12), mask=torch.zeros(5, 5).bool()), bias)


@both
def test_a_nan_is_not_hidden(attention):
    x = rand(2, 5, 12)
    x[1, 4] = math.nan
    y = attention(x, mask=masks.causal)
    assert y[1, 4].isnan().all()
    assert y[0].isfinite().all()


@both
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_with_large_scores_is_finite(attention, dtype):
    y = attention.to(dtype)(60 * torch.randn(2, 5, 12).to(dtype), mask=masks.causal)
    assert y.isfinite().all()
    assert y.dtype is dtype
