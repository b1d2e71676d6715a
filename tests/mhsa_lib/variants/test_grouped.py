"""Shared keys and values: which head reads which, what it costs, what it keeps."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from mhsa_book import naive
from mhsa_book.costs import variant_costs
from mhsa_lib import MultiHeadAttention, edit, masks, trace
from mhsa_lib.cache import kv_cache
from mhsa_lib.functional import share_heads
from mhsa_lib.variants import GroupedQueryAttention, MultiQueryAttention
from tests.helpers.drawn import filled, rand

GROUPS = st.sampled_from([(1, 1), (2, 1), (4, 2), (6, 2), (6, 3), (4, 4)])


def grouped(n_heads=6, n_kv_heads=2, d_model=12, **options):
    return filled(GroupedQueryAttention(d_model, n_heads, n_kv_heads, **options).double())


def ungrouped(attention):
    """The same function as plain attention: every row of W_K and W_V written out again."""
    plain = MultiHeadAttention(
        attention.d_model,
        attention.n_heads,
        d_head=attention.d_head,
        bias=attention.W_O.bias is not None,
    ).double()
    group, d_head = attention.n_heads // attention.n_kv_heads, attention.d_head
    weights = attention.state_dict()
    for name, value in weights.items():
        if "W_K" in name or "W_V" in name:
            heads = value.unflatten(0, (-1, d_head))
            weights[name] = heads.repeat_interleave(group, dim=0).flatten(0, 1)
    plain.load_state_dict(weights)
    return plain


@given(GROUPS, st.integers(1, 5), st.booleans())
def test_it_is_plain_attention_whose_heads_of_a_group_are_equal(heads, d_head, bias):
    attention, x, context = grouped(*heads, d_head=d_head, bias=bias), rand(4, 12), rand(6, 12)
    plain = ungrouped(attention)
    for mask in (None, masks.causal):
        found, expected = attention(x, context, mask), plain(x, context, mask)
        assert (found - expected).abs().max().item() <= 1e-10


@given(GROUPS)
def test_it_is_the_definition_in_loops(heads):
    attention, x = grouped(*heads, d_head=2), rand(2, 4, 12)
    expected = naive.loops(ungrouped(attention), x, mask=masks.causal.dense(4, 4))
    assert_close(attention(x, mask=masks.causal), expected)


@given(GROUPS)
def test_it_is_the_fused_kernel_of_another_library(heads):
    attention, x = grouped(*heads, d_head=4), rand(2, 5, 12)
    with trace(attention) as wires:
        attention(x, mask=masks.causal)
    expected = scaled_dot_product_attention(
        wires["q_heads"], wires["k_heads"], wires["v_heads"], is_causal=True, enable_gqa=True
    )
    assert_close(wires["z"], expected)


def test_neighbouring_query_heads_share():
    """k1 k1 k1 k2 k2 k2: without the first key head, the first three query heads are blind."""
    attention, x = grouped(6, 2), rand(5, 12)

    def without_first(k_heads):
        return torch.cat([torch.zeros_like(k_heads[:1]), k_heads[1:]])

    with trace(attention) as before:
        attention(x)
    with edit(attention, "k_heads", without_first), trace(attention) as after:
        attention(x)
    assert_close(after["weights"][:3], torch.full((3, 5, 5), 0.2).double())
    assert_close(after["weights"][3:], before["weights"][3:])
    shared = share_heads(torch.arange(2.0).view(2, 1, 1), 6)
    assert shared.flatten().tolist() == [0, 0, 0, 1, 1, 1]


def test_heads_of_one_group_still_look_at_different_tokens():
    attention, x = grouped(6, 1), rand(5, 12)
    with trace(attention) as wires:
        attention(x)
    weights = wires["weights"]
    assert (weights[:1] - weights[1:]).abs().amax(dim=(1, 2)).min() > 0.01


def test_a_cut_value_head_silences_its_group_and_no_other():
    attention, x = grouped(6, 3), rand(5, 12)

    def without_second(v_heads):
        return v_heads * torch.tensor([1.0, 0.0, 1.0]).double()[:, None, None]

    with edit(attention, "v_heads", without_second), trace(attention) as wires:
        attention(x)
    silent = (wires["z"] == 0).all(dim=-1).all(dim=-1).tolist()
    assert silent == [False, False, True, True, False, False]


@given(GROUPS, st.integers(1, 4), st.integers(1, 6))
def test_parameters_flops_and_cache_are_those_of_the_formula(heads, d_head, n):
    n_heads, n_kv_heads = heads
    attention = grouped(n_heads, n_kv_heads, d_head=d_head)
    costs = variant_costs.grouped(12, n_heads, n_kv_heads, n=n, d_head=d_head)
    maps = {"W_O": attention.W_O} | dict(attention.project.named_children())
    assert {name: W.weight.numel() for name, W in maps.items()} == costs.parameters
    with kv_cache(attention) as cache, trace(attention) as wires:
        attention(rand(n, 12), mask=masks.causal)
    assert {name: s.flops for name, s in wires.steps.items() if s.flops} == costs.flops
    assert {name: wire.numel() // n for name, wire in cache.wires.items()} == costs.cached
    assert cache.bytes == costs.cache_bytes(n, itemsize=8)


def test_the_cache_shrinks_with_the_groups_and_the_scores_do_not():
    costs = [variant_costs.grouped(64, 8, n_kv_heads, n=16) for n_kv_heads in (8, 4, 2, 1)]
    assert [c.cache_bytes(1) for c in costs] == [256, 128, 64, 32]
    assert len({(c.flops["scores"], c.flops["z"]) for c in costs}) == 1
    assert [c.parameters["W_K"] for c in costs] == [64 * 64, 64 * 32, 64 * 16, 64 * 8]


def test_multi_query_attention_has_one_head_of_keys():
    attention = MultiQueryAttention(12, 3, d_head=5, bias=True)
    assert attention.n_kv_heads == 1
    assert attention.project.W_K.weight.shape == (5, 12)
    assert attention.W_O.bias is not None


def test_stages_can_be_passed_in():
    class Zero(nn.Module):
        def forward(self, rows):
            return torch.zeros_like(rows)

    assert not GroupedQueryAttention(12, 6, 2, W_O=Zero())(torch.randn(5, 12)).any()


def test_it_says_how_many_heads_share():
    assert "n_heads=6, n_kv_heads=2" in repr(GroupedQueryAttention(12, 6, 2))


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        (
            (12, 6, 4),
            "n_kv_heads=4 does not divide n_heads=6; try n_kv_heads=3 or",
        ),
        ((12, 6, 12), "n_kv_heads=12 does not divide n_heads=6"),
        ((12, 6, 0), "n_kv_heads=0 is not a size; it must be at least 1"),
        (
            (10, 4, 2),
            "n_heads=4 does not divide d_model=10; try d_model=8 or d_model=12, or",
        ),
        ((12, 6, True), "n_kv_heads=True is not a whole number"),
    ],
)
def test_sizes_that_cannot_be(sizes, words):
    with pytest.raises((ValueError, TypeError), match=words):
        GroupedQueryAttention(*sizes)


@pytest.mark.bothways
def test_a_context_of_another_batch_is_refused():
    with pytest.raises(ValueError, match=r"x has leading axes \(2,\) but context has \(3,\)"):
        grouped()(rand(2, 5, 12), rand(3, 5, 12))
