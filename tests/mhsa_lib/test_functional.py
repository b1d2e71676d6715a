"""Split, share, score, softmax, mix, concat: the mathematics without a module."""

import math

import pytest
import torch
import torch.nn.functional as torch_F
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from mhsa_lib import functional
from tests.helpers.drawn import rand

SIZE = st.integers(1, 4)


def test_head_i_gets_the_ith_block_of_columns():
    rows = rand(2, 6, 12)
    heads = functional.split_heads(rows, n_heads=3)
    for i in range(3):
        assert torch.equal(heads[:, i], rows[..., 4 * i : 4 * (i + 1)])


def test_splitting_moves_no_data():
    rows = rand(2, 6, 12)
    heads = functional.split_heads(rows, n_heads=3)
    assert heads.data_ptr() == rows.data_ptr()
    assert heads.stride() == (72, 4, 12, 1)


def test_a_view_without_the_transpose_would_mix_tokens_into_heads():
    rows = torch.arange(12.0).view(3, 4)
    assert functional.split_heads(rows, 2).tolist() == [
        [[0, 1], [4, 5], [8, 9]],
        [[2, 3], [6, 7], [10, 11]],
    ]
    assert not torch.equal(functional.split_heads(rows, 2), rows.view(2, 3, 2))


def test_concat_lays_the_heads_side_by_side():
    z = rand(2, 3, 6, 4)
    assert torch.equal(functional.concat_heads(z), torch.cat(list(z.unbind(1)), dim=-1))


@given(st.lists(SIZE, max_size=2), SIZE, SIZE, SIZE)
def test_split_then_concat_is_the_identity(batch, seq, n_heads, d_head):
    rows = rand(*batch, seq, n_heads * d_head)
    assert torch.equal(functional.concat_heads(functional.split_heads(rows, n_heads)), rows)


@given(st.lists(SIZE, max_size=2), SIZE, SIZE, SIZE)
def test_concat_then_split_is_the_identity(batch, seq, n_heads, d_head):
    z = rand(*batch, n_heads, seq, d_head)
    assert torch.equal(functional.split_heads(functional.concat_heads(z), n_heads), z)


def test_shared_heads_are_k1_k1_k2_k2():
    k1, k2 = rand(2, 2, 5, 4).unbind(1)
    shared = functional.share_heads(torch.stack([k1, k2], dim=1), n_heads=4)
    assert torch.equal(shared, torch.stack([k1, k1, k2, k2], dim=1))


@given(SIZE, SIZE, SIZE, SIZE)
def test_sharing_is_what_sdpa_calls_gqa(group, n_kv_heads, n_query, n_key):
    n_heads = group * n_kv_heads
    q, k, v = rand(2, n_heads, n_query, 3), *rand(2, 2, n_kv_heads, n_key, 3)
    shared = [functional.share_heads(kv, n_heads) for kv in (k, v)]
    ours = functional.mix(
        functional.softmax(functional.score(q, shared[0], scale=3**-0.5)), shared[1]
    )
    assert_close(ours, torch_F.scaled_dot_product_attention(q, k, v, enable_gqa=True))


def test_a_score_is_a_scaled_dot_product():
    q, k = rand(2, 3, 5, 4), rand(2, 3, 7, 4)
    scores = functional.score(q, k, scale=0.5)
    assert scores.shape == (2, 3, 5, 7)
    assert_close(scores[1, 2, 3, 6], 0.5 * q[1, 2, 3].dot(k[1, 2, 6]))


def test_half_precision_survives_scores_that_overflow_without_the_scale():
    q = torch.full((1, 2, 64), 60.0, dtype=torch.float16)
    assert (q @ q.mT).isinf().all()
    assert functional.score(q, q, scale=64**-0.5).isfinite().all()


def test_softmax_is_taken_over_the_keys():
    scores = rand(2, 3, 5, 7)
    assert_close(functional.softmax(scores).sum(dim=-1), torch.ones(2, 3, 5).double())
    by_hand = scores.exp() / scores.exp().sum(dim=-1, keepdim=True)
    assert_close(functional.softmax(scores), by_hand)


def test_softmax_does_not_overflow():
    assert functional.softmax(torch.tensor([[[1000.0, 1000.0, 0.0]]])).tolist() == [
        [[0.5, 0.5, 0.0]]
    ]


@given(SIZE, SIZE, SIZE)
def test_forbidden_keys_get_nothing_and_the_rest_a_distribution(n_heads, n_query, n_key):
    scores, mask = rand(n_heads, n_query, n_key), torch.rand(n_heads, n_query, n_key) < 0.5
    weights = functional.softmax(scores, mask)
    assert (weights[~mask] == 0).all()
    assert_close(weights.sum(dim=-1), mask.any(dim=-1).double())
    powers = scores.exp() * mask
    assert_close(weights * powers.sum(dim=-1, keepdim=True), powers)


def test_a_forbidden_score_does_not_matter_however_large():
    mask = torch.tensor([[[True, True, False]]])
    scores = torch.tensor([[[1.0, 2.0, 3.0]]])
    huge = torch.tensor([[[1.0, 2.0, 1e30]]])
    assert torch.equal(functional.softmax(scores, mask), functional.softmax(huge, mask))


def test_minus_infinity_forbids_where_minus_1e9_would_not():
    mask = torch.tensor([[[False, True]]])
    weights = functional.softmax(torch.tensor([[[0.0, -1e30]]]), mask)
    assert weights.tolist() == [[[0.0, 1.0]]]


def test_a_query_that_sees_nothing_gets_zeros_and_finite_gradients():
    scores = rand(1, 2, 3).requires_grad_()
    mask = torch.tensor([[[True, False, True], [False, False, False]]])
    weights = functional.softmax(scores, mask)
    assert (weights[0, 1] == 0).all()
    weights.square().sum().backward()
    assert scores.grad.isfinite().all()
    assert (scores.grad[0, 1] == 0).all()


def test_no_nan_arises_on_the_way_back_either():
    scores, mask = (
        rand(1, 2, 3).requires_grad_(),
        torch.tensor([[[True], [False]]]).expand(1, 2, 3),
    )
    with torch.autograd.set_detect_anomaly(True):  # raises at the first NaN of a gradient
        functional.softmax(scores, mask).square().sum().backward()
    assert (scores.grad[0, 1] == 0).all()


def test_a_nan_that_came_in_stays_visible():
    scores = torch.tensor([[[math.nan, 0.0], [0.0, 0.0]]])
    for mask in (None, torch.tensor([[[True, True], [True, False]]])):
        weights = functional.softmax(scores, mask)
        assert weights[0, 0].isnan().all()
        assert weights[0, 1].isfinite().all()


def test_mixing_averages_the_values():
    weights, v = torch.tensor([[[0.25, 0.75]]]), torch.tensor([[[2.0, 0.0], [4.0, 8.0]]])
    assert functional.mix(weights, v).tolist() == [[[3.5, 6.0]]]


@pytest.mark.parametrize("n_heads", [1, 2, 4])
def test_the_functions_together_are_sdpa(n_heads):
    q, k, v = (functional.split_heads(rand(2, n, 8), n_heads) for n in (5, 7, 7))
    mask = torch.rand(2, n_heads, 5, 7) < 0.7
    mask[..., 0] = True
    ours = functional.mix(
        functional.softmax(functional.score(q, k, scale=(8 // n_heads) ** -0.5), mask), v
    )
    assert_close(ours, torch_F.scaled_dot_product_attention(q, k, v, attn_mask=mask))
