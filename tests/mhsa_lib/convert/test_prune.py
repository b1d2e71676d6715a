"""Heads that are gone compute what heads at zero compute, and everything comes along."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, masks, trace
from mhsa_lib.convert.prune import prune_heads
from mhsa_lib.rope.rotary import Rotary, RotarySplit
from mhsa_lib.variants import GroupedQueryAttention, MultiQueryAttention
from tests.helpers.drawn import cases, filled, mha, rand
from tests.mhsa_lib.convert.zeros import LIMIT, close, grouped, with_zeros


@given(cases(), st.data(), st.sampled_from(sorted(LIMIT, key=str)))
def test_what_is_left_equals_the_whole_with_those_heads_at_zero(case, data, dtype):
    n_heads = case.attention.n_heads
    keep = data.draw(st.lists(st.integers(0, n_heads - 1), unique=True, min_size=1))
    attention = case.attention.to(dtype)
    inputs = [None if t is None else t.to(dtype) for t in case.inputs]
    pruned, mask = prune_heads(attention, keep), case.any_mask()
    expected = with_zeros(attention, keep, *inputs, mask=mask)
    close(pruned(*inputs, mask=mask[..., sorted(keep), :, :]), expected)
    assert (pruned.n_heads, pruned.split.n_heads) == (len(keep), len(keep))
    assert (pruned.d_model, pruned.d_head) == (attention.d_model, attention.d_head)
    assert pruned.d_context == attention.d_context


def test_rows_and_columns_are_really_gone_and_the_output_bias_stays():
    attention = mha(12, 3, d_head=5, bias=True)
    pruned = prune_heads(attention, [0, 2])
    rows = [*range(5), *range(10, 15)]
    for name in ("W_Q", "W_K", "W_V"):
        old, new = getattr(attention.project, name), getattr(pruned.project, name)
        assert torch.equal(new.weight, old.weight[rows])
        assert torch.equal(new.bias, old.bias[rows])
        assert (new.in_features, new.out_features) == (12, 10)
    assert torch.equal(pruned.W_O.weight, attention.W_O.weight[:, rows])
    assert torch.equal(pruned.W_O.bias, attention.W_O.bias)
    assert (pruned.W_O.in_features, pruned.W_O.out_features) == (10, 12)
    assert pruned.W_O.weight.is_contiguous()


@pytest.mark.parametrize(
    "keep",
    [
        [2, 0],
        (0, 2),
        {0, 2},
        range(0, 3, 2),
        iter([2, 0]),
        np.array([2, 0]),
        [np.int64(0), np.int64(2)],
        torch.tensor([2, 0], dtype=torch.int32),
        list(torch.tensor([2, 0])),
    ],
    ids=lambda keep: type(keep).__name__,
)
def test_heads_are_named_in_any_order_and_stay_in_theirs(keep):
    attention, x = mha(bias=True), rand(2, 5, 12)
    expected = prune_heads(attention, [0, 2])
    assert torch.equal(prune_heads(attention, keep)(x), expected(x))
    with trace(attention) as before, trace(expected) as after:
        attention(x)
        expected(x)
    assert_close(after["weights"], before["weights"][:, [0, 2]])


def test_all_heads_are_the_whole_and_pruning_twice_is_pruning_once():
    attention, x = mha(12, 4, bias=True), rand(2, 5, 12)
    assert torch.equal(prune_heads(attention, range(4))(x), attention(x))
    twice = prune_heads(prune_heads(attention, [0, 2, 3]), [1, 2])
    assert torch.equal(twice(x), prune_heads(attention, [2, 3])(x))


# --- keys and values that are shared ---------------------------------------------------------


@pytest.mark.parametrize(
    ("keep", "n_kv_heads"),
    [([0, 1, 3, 4], 2), ([1, 5], 2), ([0, 1, 2], 1), ([4], 1), ([3, 5], 1), (range(6), 2)],
)
@pytest.mark.parametrize("rotary", [False, True])
def test_a_key_head_goes_with_the_last_of_its_readers(keep, n_kv_heads, rotary):
    split = RotarySplit(6, Rotary(4), 2) if rotary else None
    attention = grouped(d_head=4, **({"split": split} if rotary else {}))
    x = rand(2, 5, 12)
    pruned = prune_heads(attention, keep)
    assert type(pruned) is GroupedQueryAttention
    for module in (pruned, pruned.split):
        assert (module.n_heads, module.n_kv_heads) == (len(keep), n_kv_heads)
    assert pruned.project.W_V.weight.shape == (4 * n_kv_heads, 12)
    close(pruned(x, mask=masks.causal), with_zeros(attention, keep, x, mask=masks.causal))


def test_one_head_of_keys_stays_whatever_goes():
    attention = filled(MultiQueryAttention(12, 3, bias=True).double())
    pruned, x = prune_heads(attention, [1]), rand(2, 5, 12)
    assert type(pruned) is MultiQueryAttention
    close(pruned(x), with_zeros(attention, [1], x))


def test_positions_and_their_norms_come_along():
    norms = {"q_norm": nn.RMSNorm(4), "k_norm": nn.RMSNorm(4)}
    attention = mha(12, 3, bias=True, split=RotarySplit(3, Rotary(4), **norms))
    pruned, x = prune_heads(attention, [1, 2]), rand(2, 5, 12)
    close(pruned(x), with_zeros(attention, [1, 2], x))
    assert pruned.split.q_norm is not attention.split.q_norm


# --- what comes along ------------------------------------------------------------------------


def test_the_original_stays_and_shares_nothing():
    attention, x = mha(bias=True), rand(2, 5, 12)
    before = {name: value.clone() for name, value in attention.state_dict().items()}
    pruned = prune_heads(attention, [1])
    y = pruned(x)
    for name, value in attention.state_dict().items():
        assert torch.equal(value, before[name])
    for parameter in attention.parameters():
        parameter.data.zero_()
    assert attention.n_heads == 3
    assert torch.equal(pruned(x), y)


@pytest.mark.parametrize("training", [True, False])
def test_dropout_scale_mode_and_what_is_frozen_come_along(training):
    attention = mha(bias=True, dropout=0.25).train(training)
    attention.attend.scale = 0.3
    attention.project.W_K.weight.requires_grad_(False)
    attention.W_O.bias.requires_grad_(False)
    pruned = prune_heads(attention, [0, 1])
    assert (pruned.attend.scale, pruned.attend.dropout.p) == (0.3, 0.25)
    assert {module.training for module in pruned.modules()} == {training}
    learns = {name: p.requires_grad for name, p in attention.named_parameters()}
    assert {name: p.requires_grad for name, p in pruned.named_parameters()} == learns


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_and_another_device_come_along(dtype):
    half = prune_heads(mha(bias=True).to(dtype), [2])
    assert {parameter.dtype for parameter in half.parameters()} == {dtype}
    assert half(torch.randn(5, 12).to(dtype)).dtype is dtype
    there = prune_heads(mha(bias=True).to("meta"), [2])
    assert {parameter.device.type for parameter in there.parameters()} == {"meta"}


def test_a_map_without_a_bias_gets_none():
    attention, x = mha(bias=True), rand(2, 5, 12)
    attention.project.W_V.bias = None
    pruned = prune_heads(attention, [0])
    assert pruned.project.W_V.bias is None
    close(pruned(x), with_zeros(attention, [0], x))


def test_what_is_left_learns():
    pruned = prune_heads(mha(bias=True), [0, 2])
    pruned(rand(2, 5, 12)).square().sum().backward()
    assert all(parameter.grad is not None for parameter in pruned.parameters())


def test_a_fused_attention_is_pruned_by_way_of_its_stages():
    fused, x = FusedMultiHeadAttention(12, 6, n_kv_heads=2, bias=True).double(), rand(2, 5, 12)
    stages = prune_heads(fused.to_attention(), [0, 4])
    pruned = FusedMultiHeadAttention.from_attention(stages)
    assert (pruned.n_heads, pruned.n_kv_heads) == (2, 2)
    assert_close(pruned(x), with_zeros(fused.to_attention(), [0, 4], x))
