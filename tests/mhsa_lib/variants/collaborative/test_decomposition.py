"""Plain attention becomes shared columns: how near, and what is refused."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from mhsa_book.conversions.to_collaborative import (
    comparisons,
    decompose,
    to_collaborative,
    truncated,
)
from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention
from mhsa_lib.rope.rotary import Rotary, RotarySplit
from mhsa_lib.variants import GroupedQueryAttention
from tests.helpers.drawn import filled, rand


def plain(d_model=12, n_heads=3, **options):
    torch.manual_seed(0)
    return filled(MultiHeadAttention(d_model, n_heads, **options).double())


@given(
    d_model=st.integers(2, 9),
    n_heads=st.integers(1, 4),
    d_head=st.integers(1, 4),
    bias=st.booleans(),
)
def test_at_full_width_it_is_the_same_function(d_model, n_heads, d_head, bias):
    layer = plain(d_model, n_heads, d_head=d_head, bias=bias)
    x, context = rand(2, 3, d_model), rand(2, 5, d_model)
    assert_close(to_collaborative(layer)(x, context), layer(x, context))


def test_the_error_falls_in_every_sweep_and_with_every_column():
    W_Q, W_K = comparisons(plain())
    errors = []
    for d_shared in (2, 4, 6, 8, 10, 12):
        found = decompose(W_Q, W_K, d_shared, n_sweeps=20)
        assert all(later <= sooner + 1e-12 for sooner, later in pairwise(found.errors))
        assert found.errors[0] == truncated(W_Q, W_K, d_shared).error
        assert found.error == pytest.approx(
            ((found.heads() - W_Q @ W_K.mT).norm() / (W_Q @ W_K.mT).norm()).item()
        )
        errors.append(found.error)
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-12 < errors[-2]


def test_without_sharing_nothing_beats_the_largest_singular_values():
    W_Q, W_K = comparisons(plain())
    values = torch.linalg.svdvals(W_Q @ W_K.mT).flatten().sort(descending=True).values
    for d_shared in (1, 5, 11):
        lost = values[d_shared:].square().sum() / values.square().sum()
        assert truncated(W_Q, W_K, d_shared).error == pytest.approx(lost.sqrt().item())


def test_heads_that_do_share_are_found_to_share():
    """Four heads of width 4, made of 5 shared columns: 5 suffice instead of 16."""
    torch.manual_seed(0)
    q, mixing, k = rand(12, 5), rand(4, 5), rand(12, 5)
    left, values, right = torch.linalg.svd((q * mixing[:, None]) @ k.mT)
    W_Q, W_K = left[..., :5] * values[:, None, :5], right.mT[..., :5]
    assert truncated(W_Q, W_K, 5).error > 0.3
    assert decompose(W_Q, W_K, 5, n_sweeps=2000, tolerance=0.0).error < 1e-4


def test_the_old_scale_the_mode_and_the_dropout_stay():
    layer = plain(bias=True, dropout=0.25).eval()
    shared = to_collaborative(layer, 6)
    assert shared.attend.scale == layer.attend.scale == 0.5
    assert (shared.attend.dropout.p, shared.training) == (0.25, False)
    assert to_collaborative(layer.float().train(), 6).training
    assert to_collaborative(layer.float(), 6).split.mixing.dtype is torch.float32


def test_the_layer_that_was_converted_stays_as_it_was():
    layer, x = plain(bias=True), rand(5, 12)
    before = layer(x)
    shared = to_collaborative(layer, 6)
    with torch.no_grad():
        for parameter in shared.parameters():
            parameter.zero_()
    assert torch.equal(layer(x), before)


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (GroupedQueryAttention(12, 6, 2), "split=GroupedSplit is not decomposed; only"),
        (
            MultiHeadAttention(12, 3, split=RotarySplit(3, Rotary(4))),
            "split=RotarySplit is not decomposed; only Split is known there: "
            "pass the standard stages",
        ),
        (FusedMultiHeadAttention(12, 3), r"take to_attention\(\)"),
    ],
)
def test_only_plain_attention_is_decomposed(layer, words):
    with pytest.raises((TypeError, ValueError), match=words):
        to_collaborative(layer)


@pytest.mark.bothways
def test_a_shared_width_beyond_all_heads_is_refused():
    with pytest.raises(
        ValueError,
        match=r"d_shared=13 is wider than all heads side by side; .* exact at d_shared=12",
    ):
        to_collaborative(plain(), 13)
    with pytest.raises(ValueError, match="d_shared=0 is not a size"):
        to_collaborative(plain(), 0)
