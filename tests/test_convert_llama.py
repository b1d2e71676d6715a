"""Llama and its kin in our five stages: the same numbers in one pass and token by token."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close
from transformers import (
    DynamicCache,
    GemmaConfig,
    LlamaConfig,
    MistralConfig,
    Qwen2Config,
    Qwen3Config,
)
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.gemma.modeling_gemma import GemmaAttention
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding
from transformers.models.mistral.modeling_mistral import MistralAttention
from transformers.models.qwen2.modeling_qwen2 import Qwen2Attention
from transformers.models.qwen3.modeling_qwen3 import Qwen3Attention

from mhsa_lib import FusedMultiHeadAttention, convert, masks, trace, variant_costs
from mhsa_lib.cache import remember
from mhsa_lib.convert_llama import Llama3Stretch
from mhsa_lib.rope import INTERLEAVED
from mhsa_lib.symmetries import with_pairing
from tests.drawn import rand
from tests.test_convert import additive, close, randomized

KINDS = {
    "llama": (LlamaConfig, LlamaAttention),
    "mistral": (MistralConfig, MistralAttention),
    "qwen2": (Qwen2Config, Qwen2Attention),
    "qwen3": (Qwen3Config, Qwen3Attention),
}
each = pytest.mark.parametrize("kind", KINDS)
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500_000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 512,
}


def source(kind, dtype=torch.float64, n_heads=4, n_kv_heads=2, d_head=6, **options):
    """Random weights, and in float64 nothing that goes through float32.

    Their eager softmax and their norms do, which is a difference of 1e-7 that is not ours.
    """
    config, attention = KINDS[kind]
    options = {"rope_parameters": {"rope_type": "default", "rope_theta": 100.0}} | options
    if kind != "qwen2":  # it has no width of a head of its own
        options["head_dim"] = d_head
    sizes = {"num_attention_heads": n_heads, "num_key_value_heads": n_kv_heads}
    hidden = n_heads * (d_head if kind == "qwen2" else 3)
    kernel = "eager" if dtype is torch.float32 else "sdpa"
    made = config(hidden_size=hidden, **sizes, attn_implementation=kernel, **options)
    module = randomized(attention(made, layer_idx=0), dtype)
    if dtype is torch.float64 and kind == "qwen3":
        for name in ("q_norm", "k_norm"):
            norm = nn.RMSNorm(d_head, eps=made.rms_norm_eps).double()
            norm.load_state_dict(getattr(module, name).state_dict())
            norm.variance_epsilon = norm.eps
            setattr(module, name, norm)
    return module


def turns(module, x, start=0):
    """Cosines and sines as the model around the attention makes them, in the precision of x."""
    rotary = LlamaRotaryEmbedding(module.config)
    positions = torch.arange(start, start + x.shape[-2])
    if x.dtype is torch.float32:
        return rotary(x, positions[None])
    angles = positions.double()[:, None] * frequencies(module.config)
    angles = torch.cat([angles, angles], dim=-1)[None]
    return angles.cos(), angles.sin()


def frequencies(config):
    """Theirs, but in float64: the configuration's formula, written again."""
    d_head = (
        getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    )
    rope = config.rope_parameters
    plain = [rope["rope_theta"] ** (-2 * i / d_head) for i in range(d_head // 2)]
    if rope["rope_type"] == "default":
        return torch.tensor(plain, dtype=torch.float64)
    found, length = [], rope["original_max_position_embeddings"]
    for frequency in plain:
        wavelength = 2 * torch.pi / frequency
        if wavelength < length / rope["high_freq_factor"]:
            found.append(frequency)
        elif wavelength > length / rope["low_freq_factor"]:
            found.append(frequency / rope["factor"])
        else:
            low, high = rope["low_freq_factor"], rope["high_freq_factor"]
            smooth = (length / wavelength - low) / (high - low)
            found.append((1 - smooth) * frequency / rope["factor"] + smooth * frequency)
    return torch.tensor(found, dtype=torch.float64)


def theirs(module, x, mask=masks.causal, start=0, cache=None):
    n_key = start + x.shape[-2]
    added = additive(mask.dense(x.shape[-2], n_key)[None, None], x.dtype)
    return module(x, turns(module, x, start), added, past_key_values=cache)


# --- the same numbers ------------------------------------------------------------------------


@settings(max_examples=15)
@given(
    st.sampled_from(sorted(KINDS)),
    st.sampled_from([(1, 1), (4, 1), (4, 2), (4, 4), (6, 3)]),
    st.sampled_from([2, 4, 6]),
    st.integers(1, 7),
    st.sampled_from([torch.float32, torch.float64]),
)
def test_the_attention_gives_the_same_numbers(kind, heads, d_head, n, dtype):
    module = source(kind, dtype, *heads, d_head)
    ours, x = convert.from_llama(module), rand(2, n, module.q_proj.in_features).to(dtype)
    with trace(ours) as wires:
        y = ours(x, mask=masks.causal)
    expected, weights = theirs(module, x)
    close(y, expected)
    if dtype is torch.float32:
        close(wires["weights"], weights)


@each
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_token_by_token_it_equals_the_cached_decoding_of_the_source(kind, dtype):
    module = source(kind, dtype)
    ours, x = convert.from_llama(module), rand(2, 7, module.q_proj.in_features).to(dtype)
    theirs_kept = DynamicCache(config=module.config)
    with remember(ours) as kept:
        for start, end in ((0, 4), (4, 5), (5, 7)):
            part = x[:, start:end]
            expected, _ = theirs(module, part, start=start, cache=theirs_kept)
            close(ours(part, mask=masks.causal), expected)
    layer = theirs_kept.layers[0]
    close(kept["k_rotated"], layer.keys)
    close(kept["v_heads"], layer.values)
    costs = variant_costs.grouped(module.q_proj.in_features, 4, 2, n=1, d_head=6)
    assert kept.bytes == 2 * costs.cache_bytes(7, itemsize=dtype.itemsize)


@pytest.mark.parametrize("kind", ["mistral", "qwen2", "qwen3"])
def test_a_layer_with_a_window_needs_the_mask_of_that_window(kind):
    module = source(kind, sliding_window=3, use_sliding_window=True, max_window_layers=0)
    width = module.config.sliding_window if kind == "mistral" else module.sliding_window
    assert width == 3
    window, x = masks.sliding_window(width), rand(2, 6, module.q_proj.in_features)
    close(convert.from_llama(module)(x, mask=window), theirs(module, x, window)[0])


# --- Llama 3.1's frequencies -----------------------------------------------------------------


def test_the_stretched_frequencies_are_those_of_the_other_library():
    rope = LLAMA3 | {"original_max_position_embeddings": 8192}
    config = LlamaConfig(
        hidden_size=4096,
        num_attention_heads=32,
        max_position_embeddings=131_072,
        rope_parameters=rope,
    )
    expected, scaling = ROPE_INIT_FUNCTIONS["llama3"](config)
    rotary = convert.from_llama(LlamaAttention(config, 0)).split.rotary
    assert scaling == 1.0
    assert_close(rotary.frequencies(), expected, rtol=2e-6, atol=0)
    plain = 500_000.0 ** (-torch.arange(64) / 64)
    slower = plain / rotary.frequencies()
    assert (slower[:29] - 1).abs().max() < 1e-5  # turn often: kept
    assert (slower[35:] - 8).abs().max() < 1e-4  # turn less than once in 8192 tokens
    assert ((slower[29:35] > 1) & (slower[29:35] < 8)).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_a_stretched_layer_gives_the_same_numbers(dtype):
    module = source("llama", dtype, d_head=16, rope_parameters=LLAMA3)
    ours, x = convert.from_llama(module), rand(2, 40, 12).to(dtype)
    close(ours(x, mask=masks.causal), theirs(module, x)[0])
    plain = source("llama", dtype, d_head=16, rope_parameters=LLAMA3)
    plain.load_state_dict(module.state_dict())
    ours.split.rotary.stretch = None
    assert (ours(x, mask=masks.causal) - theirs(module, x)[0]).abs().max() > 1e-3


def test_a_stretch_says_what_it_does():
    stretch = Llama3Stretch(factor=4.0, low=1.0, high=4.0, length=100)
    turned = 2 * torch.pi / torch.tensor([10.0, 25.0, 40.0, 100.0, 1000.0])
    kept = (stretch(turned) / turned).tolist()
    assert kept == pytest.approx([1.0, 1.0, 0.625, 0.25, 0.25])


# --- what comes along ------------------------------------------------------------------------


def test_biases_are_those_of_the_source():
    ours = convert.from_llama(source("qwen2"))
    assert ours.project.W_K.bias is not None
    assert ours.W_O.bias is None
    ours = convert.from_llama(source("llama", attention_bias=True))
    assert ours.W_O.bias is not None
    module = source("llama", attention_bias=True)
    x = rand(2, 5, 12)
    close(convert.from_llama(module)(x, mask=masks.causal), theirs(module, x)[0])


@each
def test_mode_dropout_and_scale_come_along_and_weights_are_copied(kind):
    module = source(kind, attention_dropout=0.25)
    module.scaling = 0.3
    ours, x = convert.from_llama(module), rand(2, 5, module.q_proj.in_features)
    assert (ours.attend.dropout.p, ours.attend.scale) == (0.25, 0.3)
    assert not ours.training
    assert convert.from_llama(module.train()).training
    before = ours(x)
    for parameter in module.parameters():
        parameter.data.zero_()
    assert torch.equal(ours(x), before)


def test_the_other_pairing_is_the_same_function():
    """Meta's files pair neighbouring columns, the published conversion reorders W_Q and W_K."""
    module = source("qwen3")
    ours, x = convert.from_llama(module), rand(2, 5, 12)
    close(with_pairing(ours, INTERLEAVED)(x, mask=masks.causal), theirs(module, x)[0])


def test_positions_have_no_fused_form():
    with pytest.raises(ValueError, match="split=RotarySplit has no fused form"):
        FusedMultiHeadAttention.from_attention(convert.from_llama(source("llama")))


def test_a_configuration_in_the_older_form_is_read():
    class Old:
        rope_theta = 100.0
        rope_scaling = None

    module, x = source("llama"), rand(2, 5, 12)
    expected = convert.from_llama(module)(x)
    module.config = Old()
    close(convert.from_llama(module)(x), expected)
    module.config.rope_scaling = {"type": "linear", "factor": 2.0}
    with pytest.raises(ValueError, match="rotary positions of kind 'linear' are not converted"):
        convert.from_llama(module)


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("rope", "words"),
    [
        (
            {"rope_type": "yarn", "factor": 2.0},
            "rotary positions of kind 'yarn' are not converted; 'default' and 'llama3' are",
        ),
        (
            {"rope_type": "default", "partial_rotary_factor": 0.5},
            "partial_rotary_factor=0.5 turns only a part of every head; 1.0 is converted",
        ),
    ],
)
def test_other_positions_are_refused(rope, words):
    module = source("llama")
    module.config.rope_parameters = {"rope_theta": 100.0} | rope
    with pytest.raises(ValueError, match=words):
        convert.from_llama(module)


@pytest.mark.bothways
def test_the_wrong_module_is_refused_by_name():
    """Gemma's attention has the same parameters and is another function."""
    for module, name in (
        (nn.Linear(2, 2), "Linear"),
        (
            GemmaAttention(GemmaConfig(hidden_size=8, num_attention_heads=2), 0),
            "GemmaAttention",
        ),
    ):
        words = rf"convert\.from_llama takes LlamaAttention, .* or Qwen3Attention, not {name}"
        with pytest.raises(TypeError, match=words):
            convert.from_llama(module)
