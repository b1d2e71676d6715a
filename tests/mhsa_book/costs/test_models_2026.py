"""What ten models of 2026 keep: by rule, and as the code of transformers really keeps it."""

import gc
import importlib
import warnings
from dataclasses import replace
from typing import Any

import pytest
import torch

from mhsa_book.costs.configurations import DEEPSEEK_V3
from mhsa_book.costs.models_2026 import KINDS, LENGTHS, MODELS, Layer, find

GIB = 2**30
NAMES = [model.name for model in MODELS]


def test_the_rule_of_a_layer_by_hand():
    both = Layer("merged", per_entry=10, merge=4, per_window_token=3, window=5, state_bytes=7)
    assert both.kept_bytes(3) == 2 * (0 + 9) + 7
    assert both.kept_bytes(11) == 2 * (20 + 15) + 7
    assert both.kept_bytes(11, itemsize=1) == 35 + 7
    with pytest.raises(ValueError, match="n_tokens"):
        both.kept_bytes(0)


def test_v4_keeps_a_tenth_of_v3():
    """The check of a reviewer: 0.85 GiB beside 8.6 at 131,072 tokens in 16 bits."""
    n = 131_072
    csa, hca = 21 * (n // 4) * (512 + 128), 20 * (n // 128) * 512
    by_hand = 2 * (csa + hca + 43 * 128 * 512)
    assert find("DeepSeek-V4-Flash").kept_bytes(n) == by_hand
    assert round(by_hand / GIB, 2) == 0.85
    assert round(DEEPSEEK_V3.cache_bytes(n) / GIB, 1) == 8.6


@pytest.mark.parametrize(
    ("name", "per_token", "fixed"),
    [
        # By hand, from the published sizes: bytes of a far token, and bytes of all else.
        ("MiniMax-M3", 60 * 2 * 4 * 128 * 2 + 57 * 128 * 2, 0),
        ("GLM-5.3", 78 * 576 * 2 + 21 * 128 * 2, 0),
        ("Gemma 4 31B", 10 * 2 * 4 * 512 * 2, 50 * 1024 * 2 * 16 * 256 * 2),
        ("Step-3.5-Flash", 12 * 2 * 8 * 128 * 2, 33 * 512 * 2 * 8 * 128 * 2),
        ("gpt-oss-120b", 18 * 2 * 8 * 64 * 2, 18 * 128 * 2 * 8 * 64 * 2),
        ("Kimi K3", 24 * 576 * 2, 69 * (96 * 128 * 128 * 4 + 3 * 96 * 128 * 4 * 2)),
        ("MiMo-V2-Flash", 9 * 4 * 320 * 2, 39 * 129 * 8 * 320 * 2),
        ("Qwen3.5-35B-A3B", 10 * 2 * 2 * 256 * 2, 30 * (32 * 128 * 128 * 4 + 8192 * 4 * 2)),
        ("DeepSeek-V4-Flash", 2 * (21 * 160 + 20 * 4), 43 * 128 * 512 * 2),
        ("DeepSeek-V4.1-Flash", 2 * (3 * 320 + 640), 40 * 128 * 512 * 2),
    ],
)
def test_bytes_of_a_far_token_and_of_the_rest(name, per_token, fixed):
    model = find(name)
    for n in LENGTHS:
        assert model.kept_bytes(n) == n * per_token + fixed
    assert model.kept_bytes(4096, itemsize=1) < model.kept_bytes(4096)


def test_pages_of_a_server_agree_where_they_were_traced():
    """Bytes of a token in vLLM 0.30, as traced in mondegreens/apron, docs/traces, 2026-09-28.

    There the indexer's keys are 8-bit numbers with a scale of 4 bytes; ours are 16-bit ones.
    """
    glm = (find("GLM-5.3").kept_bytes(2) - find("GLM-5.3").kept_bytes(1)) - 21 * (256 - 132)
    assert glm == 5_928_192 // 64
    m3 = find("MiniMax-M3")
    index = 57 * 256  # each of 8 devices keeps the index keys and half a KV head pair
    assert (m3.kept_bytes(1) - index) // 4 + index == 5_799_936 // 128
    state = next(layer for layer in find("Qwen3.5-35B-A3B").layers if layer.kind == "state")
    assert state.state_bytes - 2 * 8192 == 2_146_304  # its convolution keeps 3 columns, not 4


def test_the_list_is_in_order_and_complete():
    assert len(MODELS) == len(set(NAMES)) == 10
    kept = [model.kept_bytes(131_072) for model in MODELS]
    assert kept == sorted(kept, reverse=True)
    for model in MODELS:
        assert set(model.counts()) <= set(KINDS)
        assert sum(model.counts().values()) == sum(n for _, n in model.runs())
        assert model.longest >= 131_072
        assert all((model.heads, model.positions, model.chooses, model.extras, model.source))


# The code of transformers, with few and narrow layers and the published widths of the cache:


def _class(path: str) -> Any:
    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(f"transformers.models.{module}"), name)


_SMALL = {"hidden_size": 32, "vocab_size": 50, "intermediate_size": 16, "pad_token_id": 0}
_EXPERTS = {"moe_intermediate_size": 8, "num_experts_per_tok": 1}
_ROUTED = _EXPERTS | {"n_routed_experts": 2}
_MLA = {"q_lora_rank": 16, "num_attention_heads": 2, "num_key_value_heads": 2}

REAL = {
    # name: configuration, model, settings, number of layers that are built
    "gpt-oss-120b": (
        "gpt_oss.configuration_gpt_oss.GptOssConfig",
        "gpt_oss.modeling_gpt_oss.GptOssModel",
        {"num_local_experts": 2, "num_experts_per_tok": 1, "num_attention_heads": 8},
        3,
    ),
    "MiMo-V2-Flash": (
        "mimo_v2_flash.configuration_mimo_v2_flash.MiMoV2FlashConfig",
        "mimo_v2_flash.modeling_mimo_v2_flash.MiMoV2FlashModel",
        _ROUTED | {"num_attention_heads": 8},
        7,
    ),
    "Qwen3.5-35B-A3B": (
        "qwen3_5_moe.configuration_qwen3_5_moe.Qwen3_5MoeTextConfig",
        "qwen3_5_moe.modeling_qwen3_5_moe.Qwen3_5MoeTextModel",
        _EXPERTS
        | {"num_experts": 2, "num_attention_heads": 2, "shared_expert_intermediate_size": 8},
        4,
    ),
    "Gemma 4 31B": (
        "gemma4.configuration_gemma4.Gemma4TextConfig",
        "gemma4.modeling_gemma4.Gemma4TextModel",
        {
            "num_attention_heads": 16,
            "num_key_value_heads": 16,
            "num_global_key_value_heads": 4,
            "attention_k_eq_v": True,
            "sliding_window": 1024,
            "hidden_size_per_layer_input": 0,
        },
        6,
    ),
    "Step-3.5-Flash": (
        "step3p7.configuration_step3p7.Step3p7TextConfig",
        "step3p7.modeling_step3p7.Step3p7TextModel",
        _ROUTED
        | {
            "num_attention_heads": 8,
            "sliding_window": 512,
            "share_expert_dim": 8,
            "layer_types": ["full_attention"] + ["sliding_attention"] * 3 + ["full_attention"],
        },
        5,
    ),
    "MiniMax-M3": (
        "minimax_m3_vl.configuration_minimax_m3_vl.MiniMaxM3VLTextConfig",
        "minimax_m3_vl.modeling_minimax_m3_vl.MiniMaxM3VLTextModel",
        {
            "num_local_experts": 2,
            "num_experts_per_tok": 1,
            "num_attention_heads": 4,
            "dense_intermediate_size": 16,
            "shared_intermediate_size": 16,
            "layer_types": ["full_attention"] * 3 + ["minimax_m3_sparse"] * 2,
        },
        5,
    ),
    "GLM-5.3": (
        "glm_moe_dsa.configuration_glm_moe_dsa.GlmMoeDsaConfig",
        "glm_moe_dsa.modeling_glm_moe_dsa.GlmMoeDsaModel",
        _ROUTED | _MLA | {"indexer_types": ["full"] * 3 + ["shared"] * 3 + ["full"]},
        7,
    ),
    # K3 is not in transformers 5.23; the layers of Kimi Linear are those of K3 but for gates.
    "Kimi K3": (
        "kimi_linear.configuration_kimi_linear.KimiLinearConfig",
        "kimi_linear.modeling_kimi_linear.KimiLinearModel",
        _EXPERTS
        | _MLA
        | {
            "num_local_experts": 2,
            "linear_num_heads": 96,
            "layer_types": ["linear_attention"] * 3 + ["full_attention"],
        },
        4,
    ),
    "DeepSeek-V4-Flash": (
        "deepseek_v4.configuration_deepseek_v4.DeepseekV4Config",
        "deepseek_v4.modeling_deepseek_v4.DeepseekV4Model",
        _ROUTED
        | {
            "num_attention_heads": 8,
            "q_lora_rank": 16,
            "o_lora_rank": 8,
            "index_n_heads": 2,
            "compress_ratios": [0, 0, 4, 128, 4],
        },
        5,
    ),
}


def _tensors(held: Any) -> list[torch.Tensor]:
    """Tensors with numbers in an attribute of a cache layer, also those in dictionaries."""
    if isinstance(held, torch.Tensor):
        return [held] if held.is_floating_point() else []
    if isinstance(held, dict):
        return [tensor for each in held.values() for tensor in _tensors(each)]
    return []


def _held_bytes(cache: Any) -> dict[str, int]:
    """Bytes by the name of the attribute that holds them; values that are the keys count once.

    DeepSeek-V4 has one vector for both. Its window layers use the library's class for any
    window, which keeps that vector a second time.
    """
    held: dict[str, int] = {}
    for layer in cache.layers:
        for name, value in vars(layer).items():
            if name == "values" and torch.equal(value, layer.keys):
                continue
            bytes_here = sum(t.numel() * t.element_size() for t in _tensors(value))
            held[name] = held.get(name, 0) + bytes_here
    return held


DEAR = "Kimi K3"  # takes as long as all others
THEIRS = [pytest.param(n, marks=[pytest.mark.slow] if n == DEAR else []) for n in REAL]


@pytest.mark.parametrize("name", THEIRS)
def test_transformers_keeps_what_the_rule_says(name):
    """A run of more tokens than the longest window, a multiple of 128.

    Two differences are the library's: of a window it keeps all but the token that asks, and
    beside full entries DeepSeek-V4 keeps the last group of four, whose parts overlap.
    """
    configuration, model_class, settings, n_layers = REAL[name]
    ours = replace(find(name), layers=find(name).layers[:n_layers])
    n = 128 * (2 + max(layer.window for layer in ours.layers) // 128)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = _class(configuration)(**_SMALL, **settings, num_hidden_layers=n_layers)
    torch.manual_seed(0)
    built = _class(model_class)(config).to(torch.bfloat16).eval()
    cache = importlib.import_module("transformers").DynamicCache(config=config)
    with torch.no_grad():
        built(torch.randint(0, 50, (1, n)), past_key_values=cache, use_cache=True)
    held = _held_bytes(cache)
    overlap = sum(held.pop(f"overlap_{part}", 0) for part in ("kv", "gate"))
    asking = sum(2 * layer.per_window_token for layer in ours.layers)
    assert sum(held.values()) == ours.kept_bytes(n) - asking
    csa = ours.counts().get("merged+chosen", 0)
    assert overlap == csa * 4 * (512 + 128) * 2 * 2
    del built, cache
    gc.collect()


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("gpt-oss-120b", {"sliding_attention": "window", "full_attention": "global"}),
        ("MiMo-V2-Flash", {"sliding_attention": "window", "full_attention": "global"}),
        ("Qwen3.5-35B-A3B", {"linear_attention": "state", "full_attention": "global"}),
    ],
)
def test_the_order_of_layers_is_the_default_of_transformers(name, kinds):
    config = _class(REAL[name][0])()
    assert [kinds[each] for each in config.layer_types] == [
        layer.kind for layer in find(name).layers
    ]
