"""Other people's modules with our weights: they must compute what the loops compute."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mhsa_book import naive
from mhsa_book.equivalence import peers
from mhsa_lib import masks
from tests.helpers.drawn import mha, rand

SIZE = st.integers(1, 3)


def close(found, expected):
    assert (found - expected).abs().max().item() <= 1e-10


@settings(max_examples=15)
@given(SIZE, SIZE, SIZE, SIZE, st.booleans())
def test_nn_multiheadattention_with_our_weights_is_the_definition(
    n_heads, d_head, nq, nk, bias
):
    attention = mha(n_heads * d_head, n_heads, bias=bias)
    x, context = (rand(2, n, n_heads * d_head) for n in (nq, nk))
    module = peers.torch_module(attention)
    close(module(x, context, context)[0], naive.loops(attention, x, context))


@settings(max_examples=10)
@given(SIZE, SIZE, SIZE, st.booleans())
def test_bert_with_our_weights_is_the_definition(n_heads, d_head, n, bias):
    attention, x = mha(n_heads * d_head, n_heads, bias=bias), rand(2, n, n_heads * d_head)
    module = peers.bert_module(attention)
    close(module.output.dense(module.self(x)[0]), naive.loops(attention, x))


@settings(max_examples=10)
@given(SIZE, SIZE, SIZE, st.booleans())
def test_gpt2_with_our_weights_is_the_definition_under_a_causal_mask(n_heads, d_head, n, bias):
    attention, x = mha(n_heads * d_head, n_heads, bias=bias), rand(2, n, n_heads * d_head)
    mask = masks.causal.dense(n, n).expand(2, 1, n, n)
    added = torch.zeros(mask.shape).double().masked_fill(~mask, torch.finfo(torch.float64).min)
    y = peers.gpt2_module(attention)(x, attention_mask=added)[0]
    close(y, naive.loops(attention, x, mask=mask))


BUILDERS = ["torch_module", "bert_module", "gpt2_module"]


@pytest.mark.parametrize("name", BUILDERS)
def test_they_come_in_our_dtype_and_without_dropout(name):
    module = getattr(peers, name)(mha(bias=True, dropout=0.5))
    assert {parameter.dtype for parameter in module.parameters()} == {torch.float64}
    assert not module.training


@pytest.mark.parametrize("name", BUILDERS)
def test_a_free_width_of_a_head_does_not_fit_them(name):
    with pytest.raises(peers.NotApplicableError, match="d_head is fixed"):
        getattr(peers, name)(mha(12, 3, d_head=5))


@pytest.mark.parametrize("name", BUILDERS)
def test_what_they_cannot_compute_is_refused(name):
    build = getattr(peers, name)
    scaled = mha()
    scaled.attend.scale = 1.0
    with pytest.raises(ValueError, match="scale=1 is not in the definition"):
        build(scaled)
    half = mha(bias=True)
    half.project.W_K.bias = None
    with pytest.raises(peers.NotApplicableError, match="all maps have a bias, or none"):
        build(half)
    with pytest.raises(peers.NotApplicableError, match="a context is as wide as x"):
        build(mha(d_context=8))
