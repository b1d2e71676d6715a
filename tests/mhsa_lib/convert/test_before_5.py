"""Attentions of transformers 4, which other people still use: the same numbers.

Nothing of it runs with transformers 5, whose classes have tests of their own.
"""

import copy
import importlib
from importlib.metadata import version

import pytest
import torch
import transformers

from mhsa_lib import convert, masks
from tests.mhsa_lib.convert.sources import randomized

pytestmark = pytest.mark.skipif(
    int(version("transformers").partition(".")[0]) >= 5,
    reason="transformers 5 is here; .github/workflows/check.yml runs this with 4",
)
SIZES = {"hidden_size": 24, "num_attention_heads": 4, "max_position_embeddings": 32}
KINDS = {
    "llama": "Llama",
    "mistral": "Mistral",
    "qwen2": "Qwen2",
    "qwen3": "Qwen3",
    "gemma": "Gemma",
    "gemma2": "Gemma2",
    "gemma3": "Gemma3",
    "phi3": "Phi3",
    "olmo2": "Olmo2",
    "deepseek_v3": "DeepseekV3",
}
HEADS = {"qwen2": {}, "phi3": {"pad_token_id": 0}, "olmo2": {}}
LATENTS = {"kv_lora_rank": 6, "q_lora_rank": 8, "qk_nope_head_dim": 4, "v_head_dim": 4}
HEADS["deepseek_v3"] = {**LATENTS, "qk_rope_head_dim": 4, "num_key_value_heads": 4}


def parts(kind, layer, more):
    """An attention with random weights, and the turns that its model hands it."""
    module = importlib.import_module(f"transformers.models.{kind}.modeling_{kind}")
    name = KINDS[kind] + ("TextConfig" if kind == "gemma3" else "Config")
    heads = HEADS.get(kind, {"head_dim": 6})
    sizes = {"num_key_value_heads": 2, **SIZES, **heads, **more}
    config = getattr(transformers, name)(**sizes, attn_implementation="eager")
    attention = getattr(module, f"{KINDS[kind]}Attention")(config, layer_idx=layer)
    local = copy.deepcopy(config)
    if kind == "gemma3" and attention.is_sliding:
        local.rope_theta, local.rope_scaling = config.rope_local_base_freq, None
    rotary = getattr(module, f"{KINDS[kind]}RotaryEmbedding")(local)
    return randomized(attention, torch.float32).eval(), rotary


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layer", [0, 5])  # of Gemma 3, one that looks near and one far
@pytest.mark.parametrize("more", [{}, {"rope_theta": 100.0}], ids=str)
def test_the_attention_gives_the_same_numbers(kind, layer, more):
    source, rotary = parts(kind, layer, more)
    x = torch.randn(2, 7, 24)
    bias = torch.full((7, 7), float("-inf")).triu(1)[None, None]
    turns = rotary(x, torch.arange(7)[None])
    expected = source(x, position_embeddings=turns, attention_mask=bias)[0]
    from_source = convert.from_deepseek if kind == "deepseek_v3" else convert.from_llama
    ours = from_source(source)(x, mask=masks.causal)
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ["llama", "mistral", "qwen3", "gemma"])
def test_stretched_turns_come_along(kind):
    source, rotary = parts(kind, 0, {"rope_scaling": {"rope_type": "linear", "factor": 4.0}})
    x = torch.randn(2, 7, 24)
    turns = rotary(x, torch.arange(7)[None])
    bias = torch.full((7, 7), float("-inf")).triu(1)[None, None]
    expected = source(x, position_embeddings=turns, attention_mask=bias)[0]
    ours = convert.from_llama(source)(x, mask=masks.causal)
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-5)
