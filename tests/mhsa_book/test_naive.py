"""The definition with loops is the oracle of all other tests; here it meets torch's own."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from torch.testing import assert_close

from mhsa_book import naive
from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention, masks
from mhsa_lib.rope.rotary import Rotary, RotarySplit
from mhsa_lib.stages import Split
from mhsa_lib.variants import GroupedQueryAttention
from tests.helpers.drawn import cases, mha, rand


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


@pytest.mark.parametrize("score", [-900.0, 0.0, 900.0])
def test_scores_of_any_size_leave_a_distribution(score):
    weights, z = naive.attend([[1.0]], [[score]] * 2, [[2.0], [4.0]], [[True, True]], 1.0)
    assert (weights, z) == ([[0.5, 0.5]], [[3.0]])
    blind = naive.attend([[1.0]], [[score], [900.0]], [[2.0], [4.0]], [[True, False]], 1.0)
    assert blind == ([[1.0, 0.0]], [[2.0]])


def scaled(attention):
    attention.attend.scale = 0.3
    return attention


class Louder(MultiHeadAttention):
    def forward(self, x, context=None, mask=None):
        return 2 * super().forward(x, context, mask)


OTHERS = {
    "rotary": (
        lambda: MultiHeadAttention(12, 3, split=RotarySplit(3, Rotary(4))),
        "split=RotarySplit is not in the definition that the loops compute; only Split "
        "is known there",
    ),
    "grouped": (lambda: GroupedQueryAttention(12, 4, 2), "is not in the definition"),
    "fused": (lambda: FusedMultiHeadAttention(12, 3), "FusedMultiHeadAttention is not in"),
    "subclass": (lambda: Louder(12, 3), "Louder is not in the definition"),
    "scale": (
        lambda: scaled(mha(12, 3)),
        r"scale=0\.3 is not in .*: 1/√d_head is 0\.5 for d_head=4; set attend\.scale",
    ),
    "norm": (
        lambda: MultiHeadAttention(12, 3, W_O=torch.nn.LayerNorm(12)),
        "W_O=LayerNorm is not in the definition",
    ),
    "dropout": (lambda: MultiHeadAttention(12, 3, dropout=0.5), r"dropout=0\.5 .*; call eval"),
    "sizes": (lambda: MultiHeadAttention(12, 3, split=Split(4)), "split makes n_heads=4 of 12"),
}


@pytest.mark.bothways
@pytest.mark.parametrize("name", OTHERS)
def test_what_the_definition_does_not_describe_is_refused(name):
    make, words = OTHERS[name]
    with pytest.raises((TypeError, ValueError), match=words):
        naive.loops(make(), torch.randn(5, 12))
    with pytest.raises((TypeError, ValueError), match=words):
        naive.ListOfHeads(make())


def test_dropout_in_evaluation_and_a_wider_context_are_in_the_definition():
    attention = MultiHeadAttention(12, 3, d_context=7, dropout=0.5).double().eval()
    x, context = rand(2, 4, 12), rand(2, 3, 7)
    assert_close(naive.loops(attention, x, context), attention(x, context))
    assert_close(naive.ListOfHeads(attention)(x, context), attention(x, context))


@pytest.mark.bothways
@pytest.mark.parametrize("reads", [naive.loops, lambda a, *args: naive.ListOfHeads(a)(*args)])
def test_a_mask_of_numbers_is_refused_and_a_rule_is_taken(reads):
    attention, x = mha(), rand(2, 5, 12)
    with pytest.raises(TypeError, match=r"mask has dtype torch\.float64, not bool"):
        reads(attention, x, None, torch.zeros(5, 5).double())
    dense = reads(attention, x, None, masks.causal.dense(5, 5))
    assert_close(reads(attention, x, None, masks.causal), dense)


@pytest.mark.bothways
def test_the_loops_take_one_batch_axis_at_most():
    with pytest.raises(ValueError, match=r"x has shape \(2, 2, 5, 12\); loops takes one batch"):
        naive.loops(mha(), rand(2, 2, 5, 12))
