"""Weights of other people's attention in our five stages: same numbers in, same numbers out.

Only attention is converted. Residual connections, LayerNorm and dropout on the output belong
to the block around it and stay behind; each function says what the result must equal.
"""

from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.convert_latent import from_deepseek as from_deepseek
from mhsa_lib.convert_latent import mha_to_latent as mha_to_latent
from mhsa_lib.convert_llama import from_llama as from_llama


def from_torch(source: nn.MultiheadAttention) -> MultiHeadAttention:
    """From ``nn.MultiheadAttention``: packed projection, all biases, attention dropout.

    ``convert.from_torch(m)(x)`` equals ``m(x, x, x)[0]`` with ``batch_first=True``; our
    tensors are always (batch, seq, d_model). Masks change polarity: ``masks.from_torch``.
    Not converted: ``kdim``/``vdim``, ``add_bias_kv``, ``add_zero_attn`` (``ValueError``).

    >>> source = nn.MultiheadAttention(12, 3, batch_first=True)
    >>> x = torch.randn(2, 6, 12)
    >>> torch.allclose(from_torch(source)(x), source(x, x, x)[0], atol=1e-6)
    True
    """
    if not isinstance(source, nn.MultiheadAttention):
        raise TypeError(_wrong("from_torch", "torch.nn.MultiheadAttention", source))
    if source.in_proj_weight is None:
        raise ValueError(
            f"kdim={source.kdim} or vdim={source.vdim} differs from "
            f"embed_dim={source.embed_dim}; only equal widths are converted."
        )
    if source.bias_k is not None or source.add_zero_attn:
        raise ValueError(
            "add_bias_kv and add_zero_attn add keys that our attention does not have; "
            "build the source without them."
        )
    attention = MultiHeadAttention(
        source.embed_dim,
        source.num_heads,
        bias=source.in_proj_bias is not None,
        dropout=source.dropout,
    )
    packed = source.in_proj_bias
    biases = (None, None, None) if packed is None else packed.chunk(3)
    return _filled(
        attention,
        source,
        weights=(*source.in_proj_weight.chunk(3), source.out_proj.weight),
        biases=(*biases, source.out_proj.bias),
    )


def from_bert(source: Any) -> MultiHeadAttention:
    """From a Hugging Face ``BertAttention``: query, key, value and the output's dense map.

    ``convert.from_bert(m)(x)`` equals ``m.output.dense(m.self(x)[0])``. Not converted: the
    dropout, residual and LayerNorm of ``m.output``.
    """
    try:
        inner, dense = source.self, source.output.dense
        maps = (inner.query, inner.key, inner.value, dense)
        n_heads, dropout = inner.num_attention_heads, inner.dropout.p
    except AttributeError as error:
        raise TypeError(_wrong("from_bert", "a BertAttention", source)) from error
    attention = MultiHeadAttention(
        dense.out_features,
        n_heads,
        d_head=inner.attention_head_size,
        bias=inner.query.bias is not None,
        dropout=dropout,
    )
    return _filled(
        attention,
        source,
        weights=tuple(linear.weight for linear in maps),
        biases=tuple(linear.bias for linear in maps),
    )


def from_gpt2(source: Any) -> MultiHeadAttention:
    """From a Hugging Face ``GPT2Attention``: ``c_attn``, ``c_proj``, and its scale.

    ``convert.from_gpt2(m)(x, mask=masks.causal)`` equals ``m(x)[0]`` as the model calls it,
    with its causal mask: the mask is not part of the weights, give it to ours. Not converted:
    dropout after ``c_proj``, cross-attention (``ValueError``). ``c_attn`` stores the transpose
    of ``nn.Linear``'s layout.
    """
    try:
        packed, output = source.c_attn, source.c_proj
        n_heads, d_head = source.num_heads, source.head_dim
        crossed, dropout = source.is_cross_attention, source.attn_dropout.p
    except AttributeError as error:
        raise TypeError(_wrong("from_gpt2", "a GPT2Attention", source)) from error
    if crossed:
        raise ValueError(
            "this GPT2Attention is a cross-attention; only self-attention is converted."
        )
    attention = MultiHeadAttention(
        output.weight.shape[1], n_heads, d_head=d_head, bias=True, dropout=dropout
    )
    attention.attend.scale = d_head**-0.5 if source.scale_attn_weights else 1.0
    if source.scale_attn_by_inverse_layer_idx:
        attention.attend.scale /= source.layer_idx + 1
    return _filled(
        attention,
        source,
        weights=(*packed.weight.T.chunk(3), output.weight.T),
        biases=(*packed.bias.chunk(3), output.bias),
    )


def _filled(
    attention: MultiHeadAttention,
    source: nn.Module,
    weights: tuple[Tensor, ...],
    biases: tuple[Tensor | None, ...],
) -> MultiHeadAttention:
    """Copy four weights and biases, in the order Q, K, V, O; keep dtype, device and mode."""
    attention = attention.to(weights[0])
    project = attention.project
    targets: tuple[nn.Linear, ...] = (project.W_Q, project.W_K, project.W_V, attention.W_O)
    with torch.no_grad():
        for linear, weight, bias in zip(targets, weights, biases, strict=True):
            linear.weight.copy_(weight)
            if bias is not None:
                linear.bias.copy_(bias)
    return attention.train(source.training)


def _wrong(function: str, expected: str, source: Any) -> str:
    return (
        f"convert.{function} takes {expected}, not {type(source).__name__}; "
        f"pass the attention module itself, not the block or the model around it."
    )
