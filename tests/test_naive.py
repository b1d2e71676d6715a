"""The definition with loops is the oracle of all other tests; here it meets torch's own."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from torch.testing import assert_close

from mhsa_lib import masks, naive
from tests.drawn import cases, mha, rand


def test_one_head_by_hand():
    weights, z = naive.attend(
        q=[[1.0, 0.0]],
        k=[[math.log(3), 5.0], [0.0, 7.0]],
        v=[[4.0], [8.0]],
        may_look=[[True, True]],
        scale=1.0,
    )
    assert_close(torch.tensor(weights), torch.tensor([[0.75, 0.25]]))
    assert_close(torch.tensor(z), torch.tensor([[5.0]]))


def test_a_forbidden_key_gets_nothing_and_a_blind_query_zeros():
    one = [[1.0]]
    assert naive.attend(one, one * 2, [[2.0], [4.0]], [[False, True]], 1.0) == (
        [[0.0, 1.0]],
        [[4.0]],
    )
    assert naive.attend(one, one, [[2.0]], [[False]], 1.0) == ([[0.0]], [[0.0]])


def test_a_projection_is_x_times_the_transposed_weight_plus_the_bias():
    W = torch.nn.Linear(3, 2).double()
    x = rand(4, 3)
    assert_close(torch.tensor(naive.project(x.tolist(), W)).double(), x @ W.weight.T + W.bias)


def _by_torch(attention, x, context, mask=None):
    """The definition again, with SDPA for the middle, head by head."""
    context = x if context is None else context
    project, d_head, z = attention.project, attention.d_head, []
    q, k, v = project.W_Q(x), project.W_K(context), project.W_V(context)
    for i in range(attention.n_heads):
        own = slice(i * d_head, (i + 1) * d_head)
        allowed = None if mask is None else mask[..., i, :, :]
        z.append(
            F.scaled_dot_product_attention(
                q[..., own], k[..., own], v[..., own], attn_mask=allowed
            )
        )
    return attention.W_O(torch.cat(z, dim=-1))


@given(cases(max_batch_axes=1))
def test_the_loops_are_torchs_attention(case):
    found = naive.loops(case.attention, *case.inputs)
    assert_close(found, _by_torch(case.attention, *case.inputs))


@given(cases(max_batch_axes=1))
def test_the_loops_obey_the_mask(case):
    mask = case.any_mask()
    mask[..., 0] = True  # every query sees something: torch gives NaN otherwise
    found = naive.loops(case.attention, *case.inputs, mask=mask)
    assert_close(found, _by_torch(case.attention, *case.inputs, mask=mask))


@given(cases(max_batch_axes=1))
def test_the_list_of_heads_equals_the_loops(case):
    heads, mask = naive.ListOfHeads(case.attention), case.any_mask()
    assert_close(heads(*case.inputs), naive.loops(case.attention, *case.inputs))
    assert_close(heads(*case.inputs, mask), naive.loops(case.attention, *case.inputs, mask))


@given(cases())
def test_the_list_of_heads_takes_any_leading_axes(case):
    assert_close(naive.ListOfHeads(case.attention)(*case.inputs), case.attention(*case.inputs))


def test_a_mask_without_batch_and_head_serves_them_all():
    attention, x, mask = mha(), rand(2, 5, 12), masks.causal.dense(5, 5)
    full = mask.expand(2, 3, 5, 5)
    heads = naive.ListOfHeads(attention)
    assert_close(heads(x, mask=mask), heads(x, mask=full))
    assert_close(naive.loops(attention, x, mask=mask), naive.loops(attention, x, mask=full))


@pytest.mark.parametrize("bias", [False, True])
def test_three_times_h_separate_matrices_hold_the_same_parameters(bias):
    attention = mha(12, 3, bias=bias)
    heads = naive.ListOfHeads(attention)
    matrices = [W for head in heads.heads for W in (head.W_Q, head.W_K, head.W_V)]
    assert len({W.weight.untyped_storage().data_ptr() for W in matrices}) == 9
    assert {W.weight.shape for W in matrices} == {(4, 12)}
    assert sum(p.numel() for p in heads.parameters()) == sum(
        p.numel() for p in attention.parameters()
    )


def test_the_list_of_heads_shares_no_memory_with_its_source():
    attention, x = mha(), rand(5, 12)
    heads = naive.ListOfHeads(attention)
    before = heads(x)
    for parameter in attention.parameters():
        parameter.data.zero_()
    assert torch.equal(heads(x), before)


def test_a_query_that_sees_nothing_gets_zeros_and_finite_gradients_in_the_list_of_heads():
    attention, x = mha(bias=True), rand(2, 4, 12).requires_grad_()
    heads = naive.ListOfHeads(attention)
    with torch.autograd.set_detect_anomaly(True):  # raises at the first NaN of a gradient
        y = heads(x, mask=masks.padding([4, 2]).dense(4, 4))
        assert_close(y[1, 2:], attention.W_O.bias.expand(2, -1))
        y.square().sum().backward()
    assert x.grad.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in heads.parameters())


def test_empty_sequences_give_empty_or_zero_rows_in_both():
    attention = mha(bias=True)
    for n_query, n_key in ((0, 4), (3, 0), (0, 0)):
        x, context = rand(2, n_query, 12), rand(2, n_key, 12)
        expected = attention(x, context)
        assert expected.shape == (2, n_query, 12)
        assert_close(naive.loops(attention, x, context), expected)
        assert_close(naive.ListOfHeads(attention)(x, context), expected)
