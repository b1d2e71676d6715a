"""Attention layers of Llama and its kin, made small, and what they compute."""

import importlib

import pytest
import torch
import transformers

from tests.helpers import theirs as their
from tests.mhsa_lib.convert.sources import randomized

# folder, name of the classes, configuration
KINDS = {
    "llama": ("Llama", "LlamaConfig"),
    "mistral": ("Mistral", "MistralConfig"),
    "qwen2": ("Qwen2", "Qwen2Config"),
    "qwen3": ("Qwen3", "Qwen3Config"),
    "gemma": ("Gemma", "GemmaConfig"),
    "gemma2": ("Gemma2", "Gemma2Config"),
    "gemma3": ("Gemma3", "Gemma3TextConfig"),
    "phi3": ("Phi3", "Phi3Config"),
    "olmo2": ("Olmo2", "Olmo2Config"),
    "gpt_oss": ("GptOss", "GptOssConfig"),
}
NO_WIDTH = {"qwen2", "phi3", "olmo2"}  # their configurations have no width of a head
each = pytest.mark.parametrize("kind", KINDS)
both = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
PLAIN = {"rope_type": "default", "rope_theta": 100.0}
TRAINED = 8
"""Tokens of a text in training; the tests go far beyond."""
STRETCHED = {
    "linear": {"factor": 4.0},
    "llama3": {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": TRAINED,
    },
    "yarn": {
        "factor": 4.0,
        "original_max_position_embeddings": TRAINED,
        "beta_fast": 1.5,
        "beta_slow": 0.2,
    },
}


def rope(name, **options):
    return {"rope_type": name, "rope_theta": 100.0, **STRETCHED.get(name, {}), **options}


def parts(kind):
    """Their attention, what makes its turns, and its configuration."""
    name, config = KINDS[kind]
    models = importlib.import_module(f"transformers.models.{kind}.modeling_{kind}")
    attention = getattr(models, f"{name}Attention")
    return attention, getattr(models, f"{name}RotaryEmbedding"), getattr(transformers, config)


def source(kind, dtype=torch.float64, n_heads=4, n_kv_heads=2, d_head=6, index=0, **options):
    """Random weights; the shortest text in training for what depends on it."""
    attention, _, config = parts(kind)
    options = {"rope_parameters": dict(PLAIN), "max_position_embeddings": TRAINED} | options
    if kind == "gemma3" and "rope_type" in options["rope_parameters"]:
        near = {"rope_type": "default", "rope_theta": 20.0}
        far = options.pop("rope_parameters")
        options["rope_parameters"] = {"full_attention": far, "sliding_attention": near}
        options["layer_types"] = ["full_attention", "sliding_attention"]
    if kind in ("gemma2", "gemma3"):
        options = {"query_pre_attn_scalar": 9, "attn_logit_softcapping": 0.5} | options
    if kind == "phi3":
        options = {"original_max_position_embeddings": TRAINED} | options
    if kind not in NO_WIDTH:
        options["head_dim"] = d_head
    sizes = {"num_attention_heads": n_heads, "num_key_value_heads": n_kv_heads}
    hidden = n_heads * (d_head if kind in NO_WIDTH else 3)
    made = config(
        hidden_size=hidden, num_hidden_layers=2, attn_implementation="eager", **sizes, **options
    )
    return randomized(attention(made, layer_idx=index), dtype)


def theirs(module, x, *args, **options):
    embedding = parts(type(module).__module__.split(".")[-2])[1]
    return their.theirs(module, embedding, x, *args, **options)


def width(module):
    return module.o_proj.out_features
