"""Fused heads may share keys and values."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from mhsa_book import costs
from mhsa_lib import FusedMultiHeadAttention, masks
from mhsa_lib.variants import GroupedQueryAttention
from tests.helpers.drawn import rand
from tests.mhsa_lib.fused.pairs import GROUPS, fuse, grouped


@given(GROUPS, st.integers(1, 4), st.booleans(), st.integers(1, 4), st.integers(1, 5))
def test_it_equals_the_five_stages_of_grouped_query_attention(heads, d_head, bias, nq, nk):
    attention = grouped(*heads, d_head=d_head, bias=bias)
    fused, x, context = fuse(attention), rand(2, nq, 12), rand(2, nk, 12)
    for mask in (None, masks.causal, torch.rand(2, heads[0], nq, nk) < 0.5):
        assert_close(fused(x, context, mask), attention(x, context, mask))


@given(GROUPS, st.integers(1, 4), st.booleans())
def test_the_round_trip_of_grouped_query_attention_changes_no_bit(heads, d_head, bias):
    attention, x = grouped(*heads, d_head=d_head, bias=bias), rand(5, 12)
    attention.attend.scale = 0.3
    fused = fuse(attention)
    back = fused.to_attention()
    assert (fused.n_heads, fused.n_kv_heads) == heads
    assert back.state_dict().keys() == attention.state_dict().keys()
    for name, value in attention.state_dict().items():
        assert torch.equal(back.state_dict()[name], value)
    assert torch.equal(back(x), attention(x))
    assert isinstance(back, GroupedQueryAttention) == (heads[0] != heads[1])


def test_gradients_are_those_of_grouped_query_attention():
    attention = grouped()
    fused, x = fuse(attention), rand(2, 5, 12)
    attention(x, mask=masks.causal).square().sum().backward()
    fused(x, mask=masks.causal).square().sum().backward()
    project = attention.project
    packed = [W.weight.grad for W in (project.W_Q, project.W_K, project.W_V)]
    assert_close(fused.W_QKV.weight.grad, torch.cat(packed))


def test_shared_heads_make_the_packed_map_smaller():
    fused = FusedMultiHeadAttention(12, 6, n_kv_heads=2, d_head=5)
    expected = costs.parameters(12, 6, n_kv_heads=2, d_head=5)
    assert sum(parameter.numel() for parameter in fused.parameters()) == sum(expected.values())
    assert fused.W_QKV.out_features == 30 + 10 + 10


@pytest.mark.bothways
def test_shared_heads_that_do_not_divide_are_refused():
    with pytest.raises(ValueError, match="n_kv_heads=4 does not divide n_heads=6; try"):
        FusedMultiHeadAttention(12, 6, n_kv_heads=4)
