"""GPT-2's attention in our five stages: same numbers in, same numbers out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import GPT2Config
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

from mhsa_lib import convert, masks, trace
from tests.helpers.drawn import rand
from tests.mhsa_lib.convert.precision import DTYPE, close
from tests.mhsa_lib.convert.sources import SIZE, additive, gpt2


@settings(max_examples=15)
@given(SIZE, SIZE, SIZE, DTYPE, st.booleans(), st.booleans(), st.booleans())
def test_a_gpt2_layer_gives_the_same_numbers(
    n_heads, d_head, n, dtype, scaled, by_layer, padded
):
    source = gpt2(
        n_heads,
        d_head,
        dtype,
        scale_attn_weights=scaled,
        scale_attn_by_inverse_layer_idx=by_layer,
    )
    ours, x = convert.from_gpt2(source), rand(2, n, n_heads * d_head).to(dtype)
    predicate = masks.causal & masks.key_padding([n, 1]) if padded else masks.causal
    expected, weights = source(
        x, attention_mask=additive(predicate.dense(n, n).expand(2, 1, n, n), dtype)
    )
    with trace(ours) as wires:
        y = ours(x, mask=predicate)
    close(y, expected)
    close(wires["weights"], weights)


@pytest.mark.parametrize(
    ("options", "scale"),
    [
        ({}, 0.5),
        ({"scale_attn_weights": False}, 1.0),
        ({"scale_attn_by_inverse_layer_idx": True}, 0.125),
    ],
)
def test_the_scale_of_gpt2_comes_along(options, scale):
    assert convert.from_gpt2(gpt2(3, 4, **options)).attend.scale == scale


def test_a_cross_attention_of_gpt2_is_refused():
    source = GPT2Attention(GPT2Config(n_embd=8, n_head=2), is_cross_attention=True)
    with pytest.raises(ValueError, match="this GPT2Attention is a cross-attention"):
        convert.from_gpt2(source)
