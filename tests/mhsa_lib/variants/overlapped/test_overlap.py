"""Overlapping heads are plain attention whose wider heads share columns."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from mhsa_book.conversions.to_plain import unshared
from mhsa_lib import MultiHeadAttention, masks, trace
from mhsa_lib.variants import OverlappedAttention
from mhsa_lib.variants.overlapped import OverlappedSplit, overlap_heads
from tests.helpers.drawn import filled, rand


def attention(d_model=12, n_heads=3, overlap=1, **options):
    return filled(OverlappedAttention(d_model, n_heads, overlap, **options).double())


@given(
    d_head=st.integers(1, 4),
    n_heads=st.integers(1, 4),
    share=st.floats(0, 1),
    bias=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_it_is_plain_attention_with_wider_heads_that_share_columns(
    d_head, n_heads, share, bias, seed
):
    torch.manual_seed(seed)
    layer = attention(7, n_heads, round(share * d_head), d_head=d_head, bias=bias)
    plain = unshared(layer)
    assert type(plain) is MultiHeadAttention
    assert plain.attend.scale == plain.d_head**-0.5
    x, context = rand(2, 4, 7), rand(2, 6, 7)
    for mask in (None, masks.causal):
        assert_close(plain(x, context, mask), layer(x, context, mask))


@pytest.mark.parametrize("overlap", [0, 1])
@pytest.mark.parametrize("with_bias", [("W_O",), ("W_Q", "W_V"), ("W_Q", "W_K", "W_V"), ()])
def test_only_the_maps_that_have_a_bias_keep_one(with_bias, overlap):
    layer = attention(12, 3, overlap)
    for name in ("W_Q", "W_K", "W_V", "W_O"):
        owner = layer if name == "W_O" else layer.project
        W = getattr(owner, name)
        made = torch.nn.Linear(W.in_features, W.out_features, bias=name in with_bias).double()
        setattr(owner, name, made)
    plain, x = unshared(layer), rand(2, 4, 12)
    assert_close(plain(x, mask=masks.causal), layer(x, mask=masks.causal))


def test_the_plain_form_keeps_dropout_mode_and_frozen_weights():
    layer = OverlappedAttention(12, 3, 1, bias=True, dropout=0.25).eval()
    layer.project.W_K.requires_grad_(False)
    plain = unshared(layer)
    assert plain.attend.dropout.p == 0.25
    assert not any(module.training for module in plain.modules())
    frozen = {name for name, p in plain.named_parameters() if not p.requires_grad}
    assert frozen == {"project.W_K.weight", "project.W_K.bias"}
    assert unshared(layer.train()).attend.dropout.training
    with torch.no_grad():
        plain.W_O.weight.zero_()
    assert layer.W_O.weight.abs().sum() > 0


@pytest.mark.parametrize("n_tokens", [0, 1, 5])
def test_without_overlap_and_without_tokens_it_runs_too(n_tokens):
    for overlap in (0, 2):
        heads = rand(2, 3, n_tokens, 4)
        wide = overlap_heads(heads, overlap)
        assert wide.shape == (2, 3, n_tokens, 4 + 2 * overlap)
        assert torch.equal(wide[..., overlap : overlap + 4], heads)


def test_a_head_reads_its_own_columns_and_the_nearest_of_its_neighbours():
    q = torch.arange(1.0, 13.0).expand(1, 12)
    wide = OverlappedSplit(3, 2)(q, q, q)
    assert wide[0][:, 0].tolist() == [
        [0, 0, 1, 2, 3, 4, 5, 6],
        [3, 4, 5, 6, 7, 8, 9, 10],
        [7, 8, 9, 10, 11, 12, 0, 0],
    ]
    assert torch.equal(wide[0], wide[1])
    assert torch.equal(wide[1], wide[2])


@pytest.mark.parametrize("overlap", [0, 1, 2])
def test_the_rank_of_the_scores_grows_with_the_overlap(overlap):
    layer = attention(16, 4, overlap, d_head=2)
    with trace(layer) as wires:
        layer(rand(16, 16))
    at_the_ends, inside = 2 + overlap, 2 + 2 * overlap
    found = torch.linalg.matrix_rank(wires["scores"]).tolist()
    assert found == [at_the_ends, inside, inside, at_the_ends]


def test_gradients_of_a_shared_column_come_from_both_heads():
    layer, heads = attention(), {}
    for head in range(3):
        with trace(layer) as wires:
            layer(rand(5, 12))
        layer.zero_grad()
        wires["scores"][head].square().sum().backward()
        reached = layer.project.W_K.weight.grad.abs().sum(dim=1) > 0
        heads[head] = reached.nonzero().flatten().tolist()
    assert heads == {0: [0, 1, 2, 3, 4], 1: [3, 4, 5, 6, 7, 8], 2: [7, 8, 9, 10, 11]}


def test_a_free_function_takes_any_leading_axes():
    heads = rand(2, 3, 4, 5, 6)
    assert_close(overlap_heads(heads, 3)[1, 2], overlap_heads(heads[1, 2], 3))
