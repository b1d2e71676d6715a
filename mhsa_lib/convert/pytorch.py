"""PyTorch's own multi-head attention in our five stages."""

from typing import Any

from torch import Tensor, nn

from mhsa_lib import copying
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.convert.source import Source, fill
from mhsa_lib.convert.verification import converted

CLASSES = ("torch.nn.modules.activation.MultiheadAttention",)


def from_torch(source: nn.MultiheadAttention, *, verify: bool = True) -> MultiHeadAttention:
    """Convert ``nn.MultiheadAttention``: packed projection, all biases, attention dropout.

    ``convert.from_torch(m)(x)`` equals ``m(x, x, x)[0]`` with ``batch_first=True``; our
    tensors are always (batch, seq, d_model). Masks change polarity: ``masks.from_torch``. With
    ``kdim`` and ``vdim`` of one width, ``convert.from_torch(m)(x, context)`` equals
    ``m(x, context, context)[0]``. Raises as ``mhsa_lib.convert`` says, and ``ValueError`` for
    ``kdim`` and ``vdim`` that differ, ``add_bias_kv`` and ``add_zero_attn``.

    >>> import torch
    >>> source = nn.MultiheadAttention(12, 3, batch_first=True)
    >>> x = torch.randn(2, 6, 12)
    >>> torch.allclose(from_torch(source)(x), source(x, x, x)[0], atol=1e-6)
    True
    """
    read = Source(source, CLASSES, "from_torch")
    if source.kdim != source.vdim:
        raise ValueError(
            f"kdim={source.kdim} differs from vdim={source.vdim}; keys and values come from "
            f"one context here, so only equal widths are converted."
        )
    if source.bias_k is not None or source.add_zero_attn:
        raise ValueError(
            "add_bias_kv and add_zero_attn add keys that our attention does not have; "
            "build the source without them."
        )
    inputs = ("x", "context") if source.kdim == source.embed_dim else ("context",)
    return converted(read, _build, _run, inputs=inputs, verify=verify)


def _build(source: Source) -> MultiHeadAttention:
    m = source.module
    attention = MultiHeadAttention(
        m.embed_dim, m.num_heads, d_context=m.kdim, dropout=m.dropout
    )
    widths = [m.embed_dim] * 3
    if m.in_proj_weight is not None:
        weights = copying.split_rows(source.take("in_proj_weight"), widths)
    else:  # kdim differs from embed_dim, so that the three weights cannot be stacked
        weights = [source.take(f"{name}_proj_weight") for name in "qkv"]
    packed = None if m.in_proj_bias is None else source.take("in_proj_bias")
    weight, bias = source.linear("out_proj")
    fill(attention, [*weights, weight], [*copying.split_rows(packed, widths), bias])
    return attention


def _run(source: Any, x: Tensor, context: Tensor, allowed: Tensor | None) -> Tensor:
    source.batch_first = True  # of the copy that is compared
    if allowed is not None:
        # Here True means blocked, and heads are counted with the texts of the batch.
        allowed = ~allowed.expand(-1, source.num_heads, -1, -1).flatten(0, 1)
    return source(x, context, context, attn_mask=allowed)[0]
