"""A batch with padding costs what its real tokens cost, and gives what the mask gives."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses import FakeTensorMode
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, masks, trace_ops
from mhsa_lib.fused import ragged
from tests.helpers.drawn import mha, rand

lengths = st.lists(st.integers(0, 7), min_size=1, max_size=4)
rules = st.sampled_from(
    [masks.causal, masks.sliding_window(2), masks.custom(lambda query, key: key != query + 1)]
)


@settings(deadline=None)
@given(lengths, st.none() | rules, st.booleans(), st.integers(1, 3))
def test_it_equals_the_five_stages_with_gradients(lengths, rule, bias, n_kv_heads):
    if n_kv_heads == 2:
        n_kv_heads = 3
    attention = mha(bias=bias)
    fused = FusedMultiHeadAttention.from_attention(attention)
    mask = masks.padding(lengths)
    mask = mask if rule is None else mask & rule
    x, same = (rand(len(lengths), 6, 12).requires_grad_() for _ in range(2))
    same.data.copy_(x.data)
    expected, y = attention(x, mask=mask), fused(same, mask=mask)
    assert_close(y, expected)
    expected.square().sum().backward()
    y.square().sum().backward()
    assert_close(same.grad, x.grad)
    assert_close(fused.W_O.weight.grad, attention.W_O.weight.grad)
    packed = [W.weight.grad for W in (attention.project.W_Q, attention.project.W_V)]
    d = 12
    assert_close(fused.W_QKV.weight.grad[:d], packed[0])
    assert_close(fused.W_QKV.weight.grad[2 * d :], packed[1])


def test_padding_meets_no_product():
    fused = FusedMultiHeadAttention(12, 3).eval()
    x, real = torch.randn(4, 50, 12), [50, 10, 5, 1]
    flops = [
        trace_ops(lambda mask=mask: fused(x, mask=mask)).flops
        for mask in (masks.padding(real), masks.padding([50] * 4))
    ]
    projected, seen = sum(real) / 200, sum(n * n for n in real) / (4 * 50 * 50)
    assert flops[1] * seen < flops[0] < flops[1] * projected


def test_what_padding_holds_does_not_matter():
    fused = FusedMultiHeadAttention(12, 3, bias=True).eval()
    x = torch.randn(2, 5, 12)
    y = fused(x, mask=masks.padding([5, 3]))
    x[1, 3:] = float("nan")
    assert_close(fused(x, mask=masks.padding([5, 3])), y)
    assert_close(y[1, 3:], fused.W_O.bias.expand(2, 12))


def test_a_batch_of_padding_only():
    fused = FusedMultiHeadAttention(12, 3, bias=True)
    y = fused(torch.randn(2, 5, 12), mask=masks.padding([0, 0]))
    assert_close(y, fused.W_O.bias.expand(2, 5, 12))
    y.sum().backward()


def test_lengths_for_another_batch_are_refused():
    fused = FusedMultiHeadAttention(12, 3)
    with pytest.raises(ValueError, match=r"mask .*\(3, 1, 5, 5\)"):
        fused(torch.randn(2, 5, 12), mask=masks.padding([1, 2, 3]))


def test_what_is_not_padding_is_left_alone():
    x = torch.zeros(2, 5, 12)
    none = [None, masks.causal, masks.key_padding([3, 5]), masks.padding([5, 9]), torch.ones(5)]
    assert all(ragged.lengths_of(mask, x) is None for mask in none)
    assert ragged.lengths_of(masks.padding([3, 5]) | masks.causal, x) is None


def test_short_sequences_on_a_gpu_keep_their_padding_and_long_ones_do_not():
    mask = masks.padding([100, 7])
    with FakeTensorMode():  # the decision needs no GPU
        short = torch.empty(2, ragged.FEWEST_ON_A_GPU - 1, 12, device="cuda")
        long = torch.empty(2, ragged.FEWEST_ON_A_GPU, 12, device="cuda")
    assert ragged.lengths_of(mask, short) is None
    assert ragged.lengths_of(mask, long) == (100, 7)
    assert ragged.lengths_of(mask, torch.empty(short.shape)) == (100, 7)
