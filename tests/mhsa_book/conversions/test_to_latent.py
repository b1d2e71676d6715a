"""Plain attention squeezed through a latent loses what the matrices miss, and no more."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from mhsa_book import conversions
from mhsa_lib import MultiHeadAttention, masks
from mhsa_lib.variants import GroupedQueryAttention, LatentAttention
from tests.helpers.drawn import mha, rand


@settings(max_examples=30)
@given(
    st.integers(1, 3),
    st.sampled_from([None, 2, 7]),
    st.booleans(),
    st.sampled_from([None, masks.causal]),
)
def test_from_the_rank_on_nothing_is_lost(n_heads, d_head, bias, mask):
    source = mha(12, n_heads, d_head=d_head, bias=bias, dropout=0.3).eval()
    source.attend.scale = 0.7
    rank = min(12, 2 * source.d_head * n_heads)
    x, context = rand(2, 3, 12), rand(2, 5, 12)
    for d_latent in range(rank, 13):
        ours, lost = conversions.mha_to_latent(source, d_latent)
        assert lost <= 1e-12
        assert (ours(x, context, mask) - source(x, context, mask)).abs().max().item() <= 1e-10
        assert ours.attend.dropout.p == 0.3
        assert not ours.training


@pytest.mark.parametrize("d_latent", [1, 4, 8, 11])
def test_what_is_lost_is_what_the_matrices_miss(d_latent):
    source = mha(12, 3)
    ours, lost = conversions.mha_to_latent(source, d_latent)
    given = torch.cat([source.project.W_K.weight, source.project.W_V.weight])
    made = torch.cat([ours.split.W_UK.weight, ours.split.W_UV.weight])
    missed = given - made @ ours.project.W_DKV.weight
    assert abs(lost - (missed.norm() / given.norm()).item()) <= 1e-12
    other = nn.init.orthogonal_(torch.empty(d_latent, 12).double())
    assert lost < (given - given @ other.mT @ other).norm() / given.norm()
    smaller = conversions.mha_to_latent(source, d_latent - 1)[1] if d_latent > 1 else 1.0
    assert lost < smaller


def test_weights_that_have_the_rank_of_the_latent_go_through_it_unchanged():
    source, x = mha(12, 3), rand(2, 6, 12)
    with torch.no_grad():
        both = rand(24, 4) @ rand(4, 12)
        source.project.W_K.weight.copy_(both[:12])
        source.project.W_V.weight.copy_(both[12:])
    ours, lost = conversions.mha_to_latent(source, 4)
    assert lost <= 1e-12
    assert (ours(x) - source(x)).abs().max().item() <= 1e-10
    assert ours.project.W_DKV.weight.shape == (4, 12)


def test_a_padded_query_gets_the_bias_of_the_values_too():
    source, x = mha(12, 3, bias=True), rand(1, 4, 12)
    ours, _ = conversions.mha_to_latent(source, 12)
    mask = masks.padding([2])
    assert_close(ours(x, mask=mask)[:, :2], source(x, mask=mask)[:, :2])
    moved = source.W_O.weight @ source.project.W_V.bias
    assert_close(ours(x, mask=mask)[0, 3], source(x, mask=mask)[0, 3] + moved)


def test_the_source_stays_as_it_is_and_precision_is_kept():
    source = MultiHeadAttention(12, 3, bias=True).to(torch.bfloat16)
    before = {name: value.clone() for name, value in source.state_dict().items()}
    ours, lost = conversions.mha_to_latent(source, 6)
    assert {p.dtype for p in ours.parameters()} == {torch.bfloat16}
    assert 0 < lost < 1
    nn.init.zeros_(ours.W_O.weight)
    assert all(torch.equal(value, before[name]) for name, value in source.state_dict().items())


@pytest.mark.bothways
def test_a_source_that_cannot_be_compressed():
    with pytest.raises(TypeError, match="Linear has no conversion to a latent"):
        conversions.mha_to_latent(nn.Linear(12, 12), 4)
    words = (
        "split=GroupedSplit has no conversion to a latent; only Split is known there: pass an"
    )
    with pytest.raises(ValueError, match=words):
        conversions.mha_to_latent(GroupedQueryAttention(12, 6, 2), 4)
    with pytest.raises(ValueError, match="d_latent=0 is not a size"):
        conversions.mha_to_latent(MultiHeadAttention(12, 3), 0)
    assert isinstance(
        conversions.mha_to_latent(MultiHeadAttention(12, 3), 12)[0], LatentAttention
    )


def test_a_latent_wider_than_the_model_loses_nothing():
    source, x = MultiHeadAttention(12, 3), torch.randn(2, 5, 12)
    ours, lost = conversions.mha_to_latent(source, 13)
    assert lost == pytest.approx(0, abs=1e-6)
    torch.testing.assert_close(ours(x), source(x), atol=1e-5, rtol=0)


def test_no_bias_of_keys_or_values_means_none_of_the_latents():
    source = MultiHeadAttention(12, 3)
    source.project.W_Q = nn.Linear(12, 12)
    assert conversions.mha_to_latent(source, 6)[0].project.W_DKV.bias is None


def test_keys_and_values_of_nothing_lose_nothing():
    source = MultiHeadAttention(12, 3)
    for W in (source.project.W_K, source.project.W_V):
        nn.init.zeros_(W.weight)
    assert conversions.mha_to_latent(source, 6)[1] == 0.0
