"""Llama and its kin in our five stages: the same numbers in one pass and token by token."""

import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from transformers import DynamicCache

from mhsa_book.conversions.pairing import with_pairing
from mhsa_book.costs import variant_costs
from mhsa_lib import convert, masks, trace
from mhsa_lib.cache import kv_cache
from mhsa_lib.rope.rotary import INTERLEAVED
from tests.helpers.drawn import rand
from tests.mhsa_lib.convert.llama.layers import KINDS, both, each, source, theirs, width
from tests.mhsa_lib.convert.precision import close
from tests.mhsa_lib.convert.sources import randomized


@given(
    st.sampled_from(sorted(KINDS)),
    st.sampled_from([(1, 1), (4, 1), (4, 2), (4, 4), (6, 3)]),
    st.sampled_from([2, 4, 6]),
    st.integers(1, 7),
    st.sampled_from([torch.float32, torch.float64]),
)
def test_the_attention_gives_the_same_numbers(kind, heads, d_head, n, dtype):
    module = source(kind, dtype, *heads, d_head)
    ours, x = convert.from_llama(module), rand(2, n, width(module)).to(dtype)
    with trace(ours) as wires:
        y = ours(x, mask=masks.causal)
    expected, weights = theirs(module, x)
    close(y, expected)
    close(wires["weights"], weights)


@each
@both
def test_token_by_token_it_equals_the_cached_decoding_of_the_source(kind, dtype):
    module = source(kind, dtype)
    ours, x = convert.from_llama(module), rand(2, 7, width(module)).to(dtype)
    theirs_kept = DynamicCache()
    with kv_cache(ours) as kept:
        for start, end in ((0, 4), (4, 5), (5, 7)):
            part = x[:, start:end]
            expected, _ = theirs(module, part, start=start, cache=theirs_kept)
            close(ours(part, mask=masks.causal), expected)
    layer = theirs_kept.layers[0]
    close(kept.wires["k_rotated"], layer.keys)
    close(kept.wires["v_heads"], layer.values)
    costs = variant_costs.grouped(width(module), 4, 2, n=1, d_head=6)
    assert kept.bytes == 2 * costs.cache_bytes(7, itemsize=dtype.itemsize)


@pytest.mark.parametrize(
    "kind", ["mistral", "qwen2", "qwen3", "gemma2", "gemma3", "gpt_oss", "phi3"]
)
def test_a_layer_with_a_window_needs_the_mask_of_that_window(kind):
    options = {"use_sliding_window": True, "max_window_layers": 0} if "qwen" in kind else {}
    index = 1 if kind == "gemma3" else 0
    module = source(kind, index=index, sliding_window=3, **options)
    of_config = kind in ("mistral", "phi3")
    window = module.config.sliding_window if of_config else module.sliding_window
    assert window == 3
    window, x = masks.sliding_window(window), rand(2, 6, width(module))
    close(convert.from_llama(module)(x, mask=window), theirs(module, x, window)[0])


@each
def test_every_bias_comes_along(kind):
    options = {} if kind in ("mistral", "qwen2", "phi3") else {"attention_bias": True}
    module, biased = source(kind, **options), 0
    for name in ("q_proj", "k_proj", "v_proj", "qkv_proj", "o_proj"):
        linear = getattr(module, name, None)
        if linear is not None:  # where their configuration has no word for it too
            linear.bias = nn.Parameter(rand(linear.out_features))
            biased += 1
    assert biased >= 2
    ours, x = convert.from_llama(module), rand(2, 5, width(module))
    close(ours(x, mask=masks.causal), theirs(module, x)[0])


def test_a_map_without_the_bias_that_others_have_adds_nothing():
    module, x = source("llama", attention_bias=True), rand(2, 5, 12)
    module.q_proj.bias = None
    close(convert.from_llama(module)(x, mask=masks.causal), theirs(module, x)[0])


def test_the_other_pairing_is_the_same_function():
    """Meta's files pair neighbouring columns, the published conversion reorders W_Q and W_K."""
    module = source("qwen3")
    ours, x = convert.from_llama(module), rand(2, 5, 12)
    close(with_pairing(ours, INTERLEAVED)(x, mask=masks.causal), theirs(module, x)[0])


def test_gemma_3_in_both_directions_needs_the_masks_that_its_model_makes():
    """The model makes the masks here, and the conversion is told what the docstring says."""
    sizes = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6}
    config = transformers.Gemma3TextConfig(
        hidden_size=12,
        num_hidden_layers=2,
        layer_types=["full_attention", "sliding_attention"],
        sliding_window=7,
        use_bidirectional_attention=True,
        vocab_size=20,
        intermediate_size=8,
        attn_implementation="eager",
        **sizes,
    )
    model = randomized(transformers.Gemma3TextModel(config), torch.float32)
    layers = [layer.self_attn for layer in model.layers]
    seen = []
    for layer in layers:
        layer.register_forward_hook(
            lambda m, args, kwargs, y: seen.append((kwargs["hidden_states"], y[0])),
            with_kwargs=True,
        )
    model(torch.arange(20)[None], use_cache=False)
    for layer in layers:
        layer._forward_hooks.clear()
    w = layers[1].sliding_window
    near = masks.custom(lambda q, k: (q - k).abs() < w)
    for layer, mask, (x, expected) in zip(layers, (None, near), seen, strict=True):
        close(convert.from_llama(layer)(x, mask=mask), expected)
    wrong = convert.from_llama(layers[1])(seen[1][0], mask=masks.sliding_window(w))
    assert (wrong - seen[1][1]).abs().max() > 0.01
