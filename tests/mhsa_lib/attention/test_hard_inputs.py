"""Conventions and hard inputs: nothing to see, NaN, half precision, dropout."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_lib import MultiHeadAttention, masks, trace
from tests.helpers.drawn import mha, rand


def test_a_query_that_sees_nothing_gets_zeros_and_finite_gradients():
    attention, x = mha(bias=True), rand(2, 4, 12).requires_grad_()
    with trace(attention) as wires:
        y = attention(x, mask=torch.zeros(4, 4, dtype=torch.bool))
    assert (wires["z"] == 0).all()
    assert_close(y, attention.W_O.bias.expand(2, 4, 12))
    y.square().sum().backward()
    assert x.grad.isfinite().all()
    assert all(p.grad.isfinite().all() for p in attention.parameters())


def test_the_z_of_a_padded_query_is_zero_and_its_y_the_bias_of_w_o():
    attention, x = mha(bias=True), rand(2, 4, 12)
    with trace(attention) as wires:
        y = attention(x, mask=masks.padding([4, 2]))
    assert (wires["z"][1, :, 2:] == 0).all()
    assert_close(y[1, 2:], attention.W_O.bias.expand(2, -1))
    assert_close(y[1, :2], attention(x[1, :2]))
    assert_close(y[0], attention(x[0]))


def test_key_padding_lets_padded_queries_look():
    attention, x = mha(), rand(1, 4, 12)
    y = attention(x, mask=masks.key_padding([2]))
    assert_close(y, attention(x, x[:, :2]))


@pytest.mark.parametrize("mask", [None, masks.causal, masks.padding([4, 4])])
def test_a_nan_in_the_input_stays_visible_and_in_its_sequence(mask):
    attention, x = mha(), rand(2, 4, 12)
    x[0, 2, 5] = float("nan")
    y = attention(x, mask=mask)
    assert y[0, 2:].isnan().all()
    assert y[1].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_with_large_scores_stays_finite(dtype):
    attention = MultiHeadAttention(64, 1).to(dtype)
    for W in attention.project.children():
        nn.init.eye_(W.weight)
    x = torch.full((1, 4, 64), 60.0, dtype=dtype)
    with trace(attention) as wires:
        y = attention(x, mask=masks.causal)
    assert wires["scores"].max() > 20_000
    assert y.isfinite().all()
    assert (wires["weights"][0, 0] > 0).equal(masks.causal.dense(4, 4))


@pytest.mark.parametrize("mask", [None, masks.causal])
def test_no_queries_give_an_empty_result(mask):
    y = mha(bias=True)(rand(2, 0, 12), rand(2, 3, 12), mask=mask)
    assert y.shape == (2, 0, 12)


@pytest.mark.parametrize("mask", [None, masks.causal])
def test_no_keys_are_like_nothing_to_see(mask):
    attention = mha(bias=True)
    y = attention(rand(2, 3, 12), rand(2, 0, 12), mask=mask)
    assert_close(y, attention.W_O.bias.expand(2, 3, 12))


def test_the_bias_of_k_does_nothing():
    attention, x = mha(bias=True), rand(2, 5, 12)
    before = attention(x)
    attention.project.W_K.bias.data += 7.0
    assert_close(attention(x), before)


def test_dropout_is_off_in_eval():
    attention, x = mha(dropout=0.5), rand(2, 5, 12)
    assert not torch.equal(attention.train()(x), attention(x))
    attention.eval()
    assert torch.equal(attention(x), attention(x))


def test_gradients_of_one_head_reach_only_its_own_columns():
    attention, x = mha(), rand(5, 12)
    with trace(attention) as wires:
        attention(x)
    wires["z"][1].sum().backward()
    for W in attention.project.children():
        used = W.weight.grad.abs().sum(dim=1) > 0
        assert used.tolist() == [False] * 4 + [True] * 4 + [False] * 4
