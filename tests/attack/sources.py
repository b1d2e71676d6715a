"""Attention of other libraries at random sizes, and what each answers by itself."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import convert, masks
from tests.attack.draw import Draw
from tests.attack.outcome import Skipped
from tests.attack.problem import fill


@dataclass
class Source:
    """``truth(x)`` is its own answer; ``convert`` makes ours, which is called with ``mask``.

    ``eps`` is the rounding of its arithmetic: some compute in float32 whatever they are given.
    """

    name: str
    module: nn.Module
    d_model: int
    truth: Callable[[Tensor], Tensor]
    convert: Callable[[], Any]
    mask: Any = None
    eps: float = 1e-9


BERTS = (
    *("bert:Bert", "roberta:Roberta", "electra:Electra", "camembert:Camembert"),
    *("xlm_roberta:XLMRoberta", "ernie:Ernie", "layoutlm:LayoutLM"),
    *("splinter:Splinter", "megatron_bert:MegatronBert", "rembert:RemBert", "esm:Esm"),
    *("roformer:RoFormer", "nystromformer:Nystromformer", "mobilebert:MobileBert"),
    *("convbert:ConvBert", "yoso:Yoso", "mra:Mra", "big_bird:BigBird", "canine:Canine"),
    *("deberta:Deberta", "deberta_v2:DebertaV2", "markuplm:MarkupLM", "visual_bert:VisualBert"),
    *("tapas:Tapas", "bert_generation:BertGeneration", "lilt:Lilt", "roc_bert:RoCBert"),
    *("ibert:IBert", "luke:Luke", "longformer:Longformer", "layoutlmv2:LayoutLMv2"),
    *("layoutlmv3:LayoutLMv3", "xlm_roberta_xl:XLMRobertaXL", "xmod:Xmod", "bros:Bros"),
    *("roberta_prelayernorm:RobertaPreLayerNorm", "altclip:AltRoberta", "clap:ClapText"),
    *("chinese_clip:ChineseCLIPText", "bridgetower:BridgeTower", "git:Git"),
)
GPTS = ("gpt2:GPT2", "imagegpt:ImageGPT", "decision_transformer:DecisionTransformerGPT2")
GPTS = (*GPTS, "gpt_bigcode:GPTBigCode", "gpt2:GPT2", "gpt2:GPT2")
LLAMAS = (
    *("llama:Llama", "mistral:Mistral", "qwen2:Qwen2", "qwen3:Qwen3"),
    *("gemma:Gemma", "gemma2:Gemma2", "phi3:Phi3", "olmo:Olmo", "olmo2:Olmo2", "cohere:Cohere"),
    *("granite:Granite", "stablelm:StableLm", "smollm3:SmolLM3", "helium:Helium", "glm:Glm"),
)
DEEPSEEKS = ("deepseek_v2:DeepseekV2", "deepseek_v3:DeepseekV3")


@cache
def _classes(name: str) -> tuple[type, type, Any]:
    """The attention, its configuration and its rotary embedding, if it has one."""
    folder, prefix = name.split(":")
    module = importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")
    configurations = importlib.import_module(
        f"transformers.models.{folder}.configuration_{folder}"
    )
    names = [
        n for n in vars(configurations) if n.endswith("Config") and n != "PreTrainedConfig"
    ]
    own = [n for n in names if n in (f"{prefix}Config", f"{prefix.removesuffix('GPT2')}Config")]
    config = getattr(configurations, (own or names)[0])
    return (
        getattr(module, f"{prefix}Attention"),
        config,
        getattr(module, f"{prefix}RotaryEmbedding", None),
    )


def of_torch(draw: Draw) -> Source:
    n_heads, d_head = draw.whole(1, 4), draw.one((1, 2, 3, 5))
    d_model = n_heads * d_head
    options = {
        "bias": draw.chance(0.6),
        "dropout": draw.one((0.0, 0.0, 0.3)),
        "batch_first": draw.chance(0.7),
    }
    if draw.chance(0.15):
        options |= draw.one(
            (
                {"add_bias_kv": True},
                {"add_zero_attn": True},
                {"kdim": 3},
                {"vdim": 5},
                {"kdim": d_model, "vdim": d_model},
            )
        )
    kind: Any = nn.MultiheadAttention
    if draw.chance(0.1) and set(options) == {"bias", "dropout", "batch_first"}:
        kind = torch.ao.nn.quantizable.MultiheadAttention
    module = kind(d_model, n_heads, **options).double().eval()
    draw.note(options=options, sizes=(d_model, n_heads))
    fill(module)

    def truth(x: Tensor) -> Tensor:
        if not module.batch_first:
            return module(x.transpose(0, 1), x.transpose(0, 1), x.transpose(0, 1))[0].transpose(
                0, 1
            )
        return module(x, x, x, need_weights=bool(x.shape[1] % 2))[0]

    return Source(
        f"torch {kind.__module__}", module, d_model, truth, lambda: convert.from_torch(module)
    )


def _config(draw: Draw, kind: type, **extra: Any) -> Any:
    n_heads, d_head = draw.whole(1, 4), draw.one((2, 4, 6))
    sizes = {
        "hidden_size": n_heads * d_head,
        "num_attention_heads": n_heads,
        "num_hidden_layers": 3,
        "intermediate_size": 16,
        "vocab_size": 20,
        "max_position_embeddings": 64,
    }
    draw.note(config=sizes | extra)
    config = kind(**(sizes | extra))
    config._attn_implementation = draw.one(("eager", "sdpa"))
    return config


def _built(name: str, attention: type, *options: tuple[Any, ...]) -> Any:
    for args in options:
        try:
            return attention(*args)
        except (TypeError, AttributeError, ValueError, AssertionError):
            continue
    raise Skipped(f"{name} takes other arguments")


def of_bert(draw: Draw) -> Source:
    name = draw.one(BERTS)
    attention, kind, _ = _classes(name)
    extra: dict[str, Any] = {"attention_probs_dropout_prob": draw.one((0.0, 0.1))}
    try:
        config = _config(draw, kind, **extra)
        m = _built(name, attention, (config,), (config, 0), (config, None, 0))
    except Exception as error:
        raise Skipped(f"{name} is configured differently") from error
    fill(m)
    m = m.double().eval()

    def truth(x: Tensor) -> Tensor:
        try:
            # without a mask some relatives are causal under SDPA: see is_causal in transformers
            out = m.self(x, attention_mask=x.new_zeros(1, 1, x.shape[1], x.shape[1]))
            return m.output.dense(out[0] if isinstance(out, tuple) else out)
        except Exception as error:
            raise Skipped(f"{name} is called differently: {error}") from error

    return Source(name, m, config.hidden_size, truth, lambda: convert.from_bert(m), None, 1e-5)


def of_gpt2(draw: Draw) -> Source:
    name = draw.one(GPTS)
    attention, kind, _ = _classes(name)
    flags = {
        "scale_attn_weights": draw.chance(0.8),
        "scale_attn_by_inverse_layer_idx": draw.chance(0.3),
        "reorder_and_upcast_attn": draw.chance(0.2),
        "attn_pdrop": draw.one((0.0, 0.1)),
        "attention_softmax_in_fp32": False,
    }
    config = _config(draw, kind, n_positions=64, **flags)
    layer, crossed = draw.whole(0, 2), draw.chance(0.05)
    try:
        m = _built(name, attention, (config, crossed, layer), (config,)).eval()
    except NotImplementedError as error:
        raise Skipped(f"{name} has no such form") from error
    fill(m)
    if not getattr(config, "reorder_and_upcast_attn", False):  # that one wants float32
        m = m.double()

    def truth(x: Tensor) -> Tensor:
        n = x.shape[1]
        causal = torch.full((n, n), torch.finfo(x.dtype).min, dtype=x.dtype).triu(1)
        try:
            return m.c_proj(_before_dropout(m, x, causal[None, None]))
        except Exception as error:
            raise Skipped(f"{name} is called differently: {error}") from error

    return Source(
        name, m, config.hidden_size, truth, lambda: convert.from_gpt2(m), masks.causal, 1e-5
    )


def _before_dropout(m: Any, x: Tensor, causal: Tensor) -> Tensor:
    """What enters the output's map: whatever follows stays behind in a conversion."""
    seen: list[Tensor] = []
    handle = m.c_proj.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    try:
        m(x, attention_mask=causal)
    finally:
        handle.remove()
    return seen[-1]


def of_llama(draw: Draw) -> Source:
    name = draw.one(LLAMAS)
    attention, kind, rotary = _classes(name)
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
        {"rope_type": "dynamic", "factor": 2.0},
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16},
        {"rope_type": "default", "partial_rotary_factor": 0.5},
    ]
    extra["rope_parameters"] = theta | draw.one(kinds)
    try:
        config = _config(draw, kind, **extra)
        m = _built(name, attention, (config, 0), (config,)).double().eval()
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
    attention, kind, rotary = _classes(name)
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
        config = _config(draw, kind, **extra)
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
