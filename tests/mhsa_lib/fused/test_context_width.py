"""A context may be wider or narrower than x."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, KVCache, masks
from tests.helpers.drawn import rand
from tests.mhsa_lib.fused.pairs import GROUPS, fuse, grouped


@given(GROUPS, st.integers(1, 9), st.booleans(), st.integers(0, 4), st.integers(0, 5))
def test_a_context_may_have_another_width(heads, d_context, bias, n_query, n_key):
    attention = grouped(*heads, d_context=d_context, bias=bias)
    fused, x, context = fuse(attention), rand(2, n_query, 12), rand(2, n_key, d_context)
    assert fused.d_context == d_context
    for mask in (None, masks.causal, torch.rand(2, heads[0], n_query, n_key) < 0.5):
        assert_close(fused(x, context, mask), attention(x, context, mask))
    back = fused.to_attention()
    assert back.d_context == d_context
    for name, value in attention.state_dict().items():
        assert torch.equal(back.state_dict()[name], value)


@pytest.mark.parametrize("n", [1, 5, 300])
@pytest.mark.parametrize("grad", [False, True])
def test_packed_it_reads_contexts_of_another_width_at_every_length(n, grad):
    fused = FusedMultiHeadAttention(12, 3, d_context=7, bias=True)
    attention, x, context = fused.to_attention(), torch.randn(2, n, 12), torch.randn(2, 9, 7)
    with torch.set_grad_enabled(grad):
        assert_close(fused(x, context), attention(x, context), atol=1e-5, rtol=1e-5)
    found = [tuple(W.weight.shape) for W in (fused.W_Q, fused.W_KV, fused.W_O)]
    assert found == [(12, 12), (24, 7), (12, 12)]


@pytest.mark.parametrize("n", [5, 300])
@pytest.mark.parametrize("mask", [None, masks.causal, masks.padding([5, 3])], ids=str)
def test_a_context_of_another_width_has_to_be_given(mask, n):
    fused = FusedMultiHeadAttention(12, 3, d_context=7)
    words = rf"context is 12 wide, shape \(2, {n}, 12\), but d_context=7; the last axis must be"
    with torch.no_grad(), pytest.raises(ValueError, match=words):
        fused(torch.randn(2, n, 12), mask=mask)


@pytest.mark.bothways
def test_a_context_of_another_width_has_no_cache():
    fused = FusedMultiHeadAttention(12, 3, d_context=7)
    words = "12 wide, .*d_context=7"
    with pytest.raises(ValueError, match=words):
        fused(torch.randn(2, 1, 12), cache=KVCache())
    with pytest.raises(ValueError, match="d_context=0 is not a size"):
        FusedMultiHeadAttention(12, 3, d_context=0)
