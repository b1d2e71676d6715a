"""NaN, large scores and half precision do what they have to, and only where they are."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, masks
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.fused.pairs import fuse


def test_a_forbidden_score_does_not_matter_however_large():
    attention, x = mha(), rand(2, 5, 12)
    x[:, 3:] *= 1e6
    y = fuse(attention)(x, mask=masks.key_padding([3, 3]))
    assert_close(y[:, :3], attention(x[:, :3]))


def test_a_nan_in_the_input_stays_visible_and_in_its_sequence():
    fused, x = fuse(mha()), rand(2, 4, 12)
    x[0, 2, 5] = float("nan")
    for mask in (None, masks.causal, masks.padding([4, 4])):
        y = fused(x, mask=mask)
        assert y[0, 2:].isnan().all()
        assert y[1].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_with_large_scores_stays_finite(dtype):
    fused = FusedMultiHeadAttention(64, 1).to(dtype)
    fused.W_QKV.weight.data = torch.eye(64, dtype=dtype).repeat(3, 1)
    x = torch.full((1, 4, 64), 60.0, dtype=dtype)
    for mask in (None, masks.causal, masks.key_padding([3])):
        assert fused(x, mask=mask).isfinite().all()
