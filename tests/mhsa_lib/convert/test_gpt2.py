"""GPT-2's attention in our five stages: same numbers in, same numbers out."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import GPT2Config, ImageGPTConfig
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention
from transformers.models.imagegpt.modeling_imagegpt import ImageGPTAttention

from mhsa_lib import convert, masks, trace
from tests.helpers.drawn import rand
from tests.mhsa_lib.convert.precision import DTYPE, close
from tests.mhsa_lib.convert.sources import SIZE, additive, gpt2, randomized


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


@pytest.mark.parametrize(
    ("options", "scale"),
    [
        ({}, 0.5),
        ({"scale_attn_weights": False}, 1.0),
        ({"scale_attn_by_inverse_layer_idx": True}, 0.125),
    ],
)
def test_so_does_that_of_a_class_that_computes_it_as_it_goes(options, scale):
    config = ImageGPTConfig(n_embd=12, n_head=3, max_position_embeddings=8, **options)
    source = randomized(ImageGPTAttention(config, layer_idx=3), torch.float64)
    ours, x = convert.from_gpt2(source), rand(2, 5, 12)
    assert ours.attend.scale == scale
    close(ours(x, mask=masks.causal), source(x)[0])


def test_a_cross_attention_of_gpt2_is_refused():
    source = GPT2Attention(GPT2Config(n_embd=8, n_head=2), is_cross_attention=True)
    with pytest.raises(ValueError, match="this GPT2Attention is a cross-attention"):
        convert.from_gpt2(source)
