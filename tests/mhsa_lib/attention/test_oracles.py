"""Multi-head attention against the loops, and against torch."""

import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from mhsa_book import naive
from mhsa_lib import functional, masks, trace
from tests.helpers.drawn import Case, cases, mha, rand


@given(cases(max_batch_axes=1))
def test_it_is_the_definition_in_loops(case):
    assert_close(case.attention(*case.inputs), naive.loops(case.attention, *case.inputs))


@given(cases(max_batch_axes=1))
def test_it_is_the_definition_in_loops_under_any_mask(case):
    mask = case.any_mask()
    expected = naive.loops(case.attention, *case.inputs, mask=mask)
    assert_close(case.attention(*case.inputs, mask=mask), expected)


def _sdpa(case: Case, mask=None, **options):
    a = case.attention
    context = case.x if case.context is None else case.context
    q, k, v = (functional.split_heads(rows, a.n_heads) for rows in a.project(case.x, context))
    return a.W_O(
        functional.concat_heads(
            F.scaled_dot_product_attention(q, k, v, attn_mask=mask, **options)
        )
    )


@given(cases())
def test_it_is_sdpa_between_the_projections(case):
    assert_close(case.attention(*case.inputs), _sdpa(case))


@given(cases())
def test_it_is_sdpa_under_a_mask_where_a_query_sees_something(case):
    mask = case.any_mask()
    mask[..., 0] = True
    assert_close(case.attention(*case.inputs, mask=mask), _sdpa(case, mask))


@given(cases(cross=False))
def test_causal_is_sdpas_causal_for_equal_lengths(case):
    assert_close(case.attention(case.x, mask=masks.causal), _sdpa(case, is_causal=True))


@given(
    st.integers(1, 3), st.integers(1, 4), st.booleans(), st.integers(1, 5), st.integers(1, 5)
)
def test_it_is_nn_multiheadattention_with_copied_weights(n_heads, d_head, bias, n_query, n_key):
    attention = mha(n_heads * d_head, n_heads, bias=bias)
    module = nn.MultiheadAttention(
        attention.d_model, n_heads, bias=bias, batch_first=True
    ).double()
    parts = attention.project.W_Q, attention.project.W_K, attention.project.W_V
    module.in_proj_weight.data = torch.cat([W.weight for W in parts])
    module.out_proj.weight.data = attention.W_O.weight.data
    if bias:
        module.in_proj_bias.data = torch.cat([W.bias for W in parts])
        module.out_proj.bias.data = attention.W_O.bias.data
    x, context = rand(2, n_query, attention.d_model), rand(2, n_key, attention.d_model)
    with trace(attention) as wires:
        y = attention(x, context)
    expected, weights = module(x, context, context, average_attn_weights=False)
    assert_close(y, expected)
    assert_close(wires["weights"], weights)
