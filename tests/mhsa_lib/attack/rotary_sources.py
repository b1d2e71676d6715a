"""Llama, DeepSeek and their relatives at random sizes, and what each answers by itself."""

from typing import Any

import torch
from torch import Tensor

from mhsa_lib import convert, masks
from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.outcome import Skipped
from tests.mhsa_lib.attack.problem import fill
from tests.mhsa_lib.attack.sources import Source
from tests.mhsa_lib.attack.transformers_classes import built, classes, drawn_config

LLAMAS = (
    *("llama:Llama", "mistral:Mistral", "qwen2:Qwen2", "qwen3:Qwen3"),
    *("gemma:Gemma", "gemma2:Gemma2", "phi3:Phi3", "olmo:Olmo", "olmo2:Olmo2", "cohere:Cohere"),
    *("granite:Granite", "stablelm:StableLm", "smollm3:SmolLM3", "helium:Helium", "glm:Glm"),
)
DEEPSEEKS = ("deepseek_v2:DeepseekV2", "deepseek_v3:DeepseekV3")


def of_llama(draw: Draw) -> Source:
    name = draw.one(LLAMAS)
    attention, kind, rotary = classes(name)
    d_head = draw.one((2, 4, 8))
    extra: dict[str, Any] = {
        "num_key_value_heads": 1 if draw.chance(0.3) else None,
        "head_dim": draw.one((d_head, None)),
        "attention_dropout": draw.one((0.0, 0.1)),
        "attention_bias": draw.chance(0.3),
        "pad_token_id": 0,
    }
    extra = {k: v for k, v in extra.items() if v is not None}
    theta = {"rope_theta": draw.one((10.0, 10_000.0))}
    kinds: list[dict[str, Any]] = [
        {"rope_type": "default"},
        {"rope_type": "default"},
        {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 16,
        },
        {"rope_type": "linear", "factor": 2.0},
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16},
        {"rope_type": "default", "partial_rotary_factor": 0.5},
    ]
    extra["rope_parameters"] = theta | draw.one(kinds)
    try:
        config = drawn_config(draw, kind, **extra)
        m = built(name, attention, (config, 0), (config,)).double().eval()
        embedding = rotary(config=config)
    except Exception as error:
        raise Skipped(f"{name} is configured differently") from error
    fill(m)
    window = getattr(m, "sliding_window", None)
    mask = masks.causal if not window else masks.sliding_window(window)

    def truth(x: Tensor) -> Tensor:
        n = x.shape[1]
        places = embedding(x.double(), torch.arange(n)[None])
        additive = torch.zeros(n, n, dtype=x.dtype).masked_fill(
            ~mask.rule(torch.arange(n)[:, None], torch.arange(n)), torch.finfo(x.dtype).min
        )
        try:
            places = tuple(t.to(x.dtype) for t in places)
            return m(
                hidden_states=x, position_embeddings=places, attention_mask=additive[None, None]
            )[0]
        except Exception as error:
            raise Skipped(f"{name} is called differently: {error}") from error

    return Source(name, m, config.hidden_size, truth, lambda: convert.from_llama(m), mask, 1e-5)


def of_deepseek(draw: Draw) -> Source:
    name = draw.one(DEEPSEEKS)
    attention, kind, rotary = classes(name)
    extra = {
        "q_lora_rank": draw.one((None, 3)),
        "kv_lora_rank": 4,
        "qk_nope_head_dim": draw.one((2, 3)),
        "qk_rope_head_dim": draw.one((2, 4)),
        "v_head_dim": draw.one((2, 5)),
        "attention_bias": draw.chance(0.4),
        "rope_interleave": draw.chance(0.5),
        "rope_parameters": draw.one(
            (
                {"rope_type": "default", "rope_theta": 100.0},
                {"rope_type": "default", "rope_theta": 1e4},
                {"type": "linear", "factor": 2.0, "rope_theta": 1e4},
                {
                    "rope_type": "yarn",
                    "factor": 4.0,
                    "rope_theta": 1e4,
                    "original_max_position_embeddings": 16,
                    "mscale_all_dim": 1.0,
                },
            )
        ),
    }
    extra["head_dim"] = extra["qk_rope_head_dim"]
    try:
        config = drawn_config(draw, kind, **extra)
        m = attention(config, 0).double().eval()
        embedding = rotary(config=config)
    except Exception as error:
        raise Skipped(f"{name} is configured differently") from error
    fill(m)

    def truth(x: Tensor) -> Tensor:
        n = x.shape[1]
        places = embedding(x.double(), torch.arange(n)[None])
        additive = torch.full((n, n), torch.finfo(x.dtype).min, dtype=x.dtype).triu(1)
        try:
            return m(
                hidden_states=x, position_embeddings=places, attention_mask=additive[None, None]
            )[0]
        except Exception as error:
            raise Skipped(f"{name} is called differently: {error}") from error

    return Source(
        name, m, config.hidden_size, truth, lambda: convert.from_deepseek(m), masks.causal, 1e-5
    )
