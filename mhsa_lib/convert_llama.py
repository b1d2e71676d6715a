"""Weights of Llama and its kin in our five stages: shared keys, rotary positions, head norms.

Source: Touvron et al., "Llama 2", arXiv 2307.09288; Grattafiori et al., "The Llama 3 Herd of
Models", section 3.2, arXiv 2407.21783; Qwen Team, "Qwen3", section 2, arXiv 2505.09388.
"""

import math
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from mhsa_lib.rope import HALVES, Rotary, RotarySplit
from mhsa_lib.stages import Project
from mhsa_lib.variants.grouped import GroupedQueryAttention

KNOWN = ("LlamaAttention", "MistralAttention", "Qwen2Attention", "Qwen3Attention")
"""Classes that are converted. Others have the same parameters and another function."""


@dataclass(frozen=True)
class Llama3Stretch:
    """Llama 3.1's frequencies for long texts: what turned slowly in training turns slower.

    Counted are the turns of a pair within ``length`` tokens: below ``low`` turns it becomes
    ``factor`` times slower, above ``high`` it stays, between them the two are blended.

    >>> import torch
    >>> Llama3Stretch(factor=8.0)(torch.tensor([1.0, 2**-13])).tolist() == [1.0, 2**-16]
    True
    """

    factor: float = 8.0
    low: float = 1.0
    high: float = 4.0
    length: int = 8192

    def __call__(self, frequencies: Tensor) -> Tensor:
        turns = self.length * frequencies / (2 * math.pi)
        kept = ((turns - self.low) / (self.high - self.low)).clamp(0, 1)
        return frequencies * (kept + (1 - kept) / self.factor)


def from_llama(source: Any) -> GroupedQueryAttention:
    """From a Hugging Face ``LlamaAttention``, or Mistral's, Qwen2's or Qwen3's.

    ``convert.from_llama(m)(x, mask=masks.causal)`` equals ``m(x, …)[0]`` with positions from 0
    and the model's causal mask; a layer with ``m.sliding_window`` needs
    ``masks.sliding_window(m.sliding_window)``. Rotary positions come along as the stage
    ``split``: pairs are the two halves of a head, frequencies those of the configuration,
    plain or stretched as in Llama 3.1 (other kinds: ``ValueError``). So do Qwen2's biases and
    Qwen3's norms of every head.

    Other classes are refused (``TypeError``): Gemma's, for one, has the same parameters and
    computes another function.
    """
    kind = type(source).__name__
    if kind not in KNOWN:
        raise TypeError(
            f"convert.from_llama takes {', '.join(KNOWN[:-1])} or {KNOWN[-1]}, not {kind}; "
            f"pass the attention module itself, not the block or the model around it."
        )
    maps = source.q_proj, source.k_proj, source.v_proj, source.o_proj
    d_model, d_head = source.q_proj.in_features, source.head_dim
    n_heads, n_kv_heads = (W.out_features // d_head for W in maps[:2])
    norms = {
        name: _norm(getattr(source, name))
        for name in ("q_norm", "k_norm")
        if hasattr(source, name)
    }
    project_bias = source.q_proj.bias is not None
    attention = GroupedQueryAttention(
        d_model,
        n_heads,
        n_kv_heads,
        d_head=d_head,
        bias=source.o_proj.bias is not None,
        dropout=source.attention_dropout,
        project=Project(d_model, n_heads * d_head, n_kv_heads * d_head, bias=project_bias),
        split=RotarySplit(n_heads, _rotary(source.config, d_head), n_kv_heads, **norms),
    )
    attention.attend.scale = source.scaling
    ours = attention.project.W_Q, attention.project.W_K, attention.project.W_V, attention.W_O
    for linear, given in zip(ours, maps, strict=True):
        linear.load_state_dict(given.state_dict())
    return attention.to(source.q_proj.weight).train(source.training)


def _norm(given: Any) -> nn.RMSNorm:
    norm = nn.RMSNorm(given.weight.shape, eps=given.variance_epsilon)
    norm.load_state_dict(given.state_dict())
    return norm


def _rotary(config: Any, d_head: int) -> Rotary:
    rope = getattr(config, "rope_parameters", None)
    if rope is None:  # before transformers 5
        rope = {"rope_theta": config.rope_theta, **(config.rope_scaling or {})}
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind not in ("default", "llama3"):
        raise ValueError(
            f"rotary positions of kind {kind!r} are not converted; 'default' and 'llama3' are. "
            f"Copy the weights into a GroupedQueryAttention with a RotarySplit of your own."
        )
    if rope.get("partial_rotary_factor", 1.0) != 1.0:
        raise ValueError(
            f"partial_rotary_factor={rope['partial_rotary_factor']} turns only a part of every "
            f"head; 1.0 is converted, which turns all of it."
        )
    stretch = None
    if kind == "llama3":
        stretch = Llama3Stretch(
            rope["factor"],
            rope["low_freq_factor"],
            rope["high_freq_factor"],
            rope.get("original_max_position_embeddings", config.max_position_embeddings),
        )
    return Rotary(d_head, rope["rope_theta"], HALVES, stretch)
