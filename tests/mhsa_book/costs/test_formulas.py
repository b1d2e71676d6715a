"""Formulas against counts; the trace of the real module is compared in test_trace.py."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mhsa_book import costs
from mhsa_lib import GroupedQueryAttention, MultiHeadAttention, trace

SIZE = st.integers(1, 9)


@given(SIZE, SIZE, SIZE, SIZE, st.booleans())
def test_parameters_are_those_of_the_module(d_model, n_heads, d_head, d_context, bias):
    sizes = {"d_head": d_head, "d_context": d_context, "bias": bias}
    attention = MultiHeadAttention(d_model, n_heads, **sizes)
    maps = {**dict(attention.project.named_children()), "W_O": attention.W_O}
    counted = {name: sum(p.numel() for p in W.parameters()) for name, W in maps.items()}
    assert costs.parameters(d_model, n_heads, **sizes) == counted


def test_a_context_of_another_width_costs_what_a_trace_of_it_counts():
    attention = GroupedQueryAttention(12, 6, 2, d_context=5)
    with trace(attention) as wires:
        attention(torch.zeros(2, 4, 12), torch.zeros(2, 7, 5))
    counted = {wire: step.flops for wire, step in wires.steps.items() if step.flops}
    sizes = {"n_key": 7, "n_kv_heads": 2, "d_context": 5, "batch": 2}
    assert costs.flops(4, 12, 6, **sizes) == counted


@pytest.mark.parametrize("n_heads", [1, 2, 8, 16])
def test_the_number_of_heads_changes_no_parameter_and_no_flop(n_heads):
    assert costs.parameters(64, n_heads) == costs.parameters(64, 4)
    assert costs.flops(10, 64, n_heads) == costs.flops(10, 64, 4)


def test_four_squares_of_d_model():
    assert sum(costs.parameters(512, 8).values()) == 4 * 512**2


def test_flops_are_8nd2_plus_4n2d():
    n, d = 32, 64
    flops = costs.flops(n, d, 8)
    assert sum(flops[wire] for wire in ("q", "k", "v", "y")) == 8 * n * d**2
    assert flops["scores"] + flops["z"] == 4 * n**2 * d


def test_scores_cost_as_much_as_projections_at_twice_d_model():
    n, d = 128, 64
    flops = costs.flops(n, d, 8)
    assert flops["scores"] + flops["z"] == sum(flops[wire] for wire in ("q", "k", "v", "y"))


def test_bytes_of_scores_grow_with_the_square_of_the_length():
    one, two = costs.bytes_of(100, 64, 8), costs.bytes_of(200, 64, 8)
    assert two["scores"] == 4 * one["scores"] == 4 * 8 * 100**2 * 4
    assert two["q"] == 2 * one["q"] == 2 * 100 * 64 * 4


def test_batch_and_number_size_multiply():
    plain = costs.bytes_of(10, 64, 8, itemsize=2)
    assert costs.bytes_of(10, 64, 8, batch=3, itemsize=2)["z"] == 3 * plain["z"]
    assert costs.bytes_of(10, 64, 8)["z"] == 2 * plain["z"]


def test_concat_is_as_wide_as_all_heads_whatever_the_model():
    new = costs.bytes_of(10, 64, 8, d_head=3, itemsize=1)
    assert (new["concat"], new["y"]) == (10 * 8 * 3, 10 * 64)
    assert costs.flops(10, 64, 8, batch=3)["z"] == 3 * costs.flops(10, 64, 8)["z"]


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="n_query=0 is not a size"):
        costs.flops(0, 64, 8)
    with pytest.raises(ValueError, match="itemsize=0 is not a size"):
        costs.bytes_of(5, 64, 8, itemsize=0)
    with pytest.raises(ValueError, match="n_heads=5 does not divide d_model=64"):
        costs.parameters(64, 5)


@given(SIZE, st.integers(1, 4), st.integers(1, 3), SIZE, st.booleans())
def test_shared_heads_have_queries_of_many_and_keys_of_few(d_model, n_kv, group, d_head, bias):
    sizes = {"d_head": d_head, "bias": bias}
    many = MultiHeadAttention(d_model, n_kv * group, **sizes)
    few = MultiHeadAttention(d_model, n_kv, **sizes)
    maps = {
        "W_Q": many.project.W_Q,
        "W_K": few.project.W_K,
        "W_V": few.project.W_V,
        "W_O": many.W_O,
    }
    counted = {name: sum(p.numel() for p in W.parameters()) for name, W in maps.items()}
    assert costs.parameters(d_model, n_kv * group, n_kv_heads=n_kv, **sizes) == counted


def test_sharing_keys_shortens_k_and_v_and_nothing_else():
    for count in (costs.flops, costs.bytes_of):
        every, shared = count(10, 64, 8), count(10, 64, 8, n_kv_heads=2)
        assert {wire for wire in every if every[wire] != shared[wire]} == {"k", "v"}
        assert every["k"] == 4 * shared["k"] == 4 * shared["v"]


def test_the_cache_is_k_and_v_of_every_layer():
    wires = costs.bytes_of(100, 64, 8, n_kv_heads=2, itemsize=2, batch=3)
    sizes = {"n_kv_heads": 2, "d_head": 8, "batch": 3}
    assert costs.cache_bytes(100, **sizes) == wires["k"] + wires["v"]
    assert costs.cache_bytes(100, **sizes, layers=5) == 5 * (wires["k"] + wires["v"])


def test_shared_heads_are_checked():
    with pytest.raises(ValueError, match="n_kv_heads=3 does not divide n_heads=8"):
        costs.flops(5, 64, 8, n_kv_heads=3)
    with pytest.raises(ValueError, match="layers=0 is not a size"):
        costs.cache_bytes(5, 8, 64, layers=0)
