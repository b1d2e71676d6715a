"""PyTorch's own multi-head attention in our five stages."""

from torch import nn

from mhsa_lib.accept import kinds, known, parameters
from mhsa_lib.attention import MultiHeadAttention

KNOWN: kinds.Kinds = {"": (nn.MultiheadAttention,), "out_proj": (nn.Linear,)}


def from_torch(source: nn.MultiheadAttention) -> MultiHeadAttention:
    """From ``nn.MultiheadAttention``: packed projection, all biases, attention dropout.

    ``convert.from_torch(m)(x)`` equals ``m(x, x, x)[0]`` with ``batch_first=True``; our
    tensors are always (batch, seq, d_model). Masks change polarity: ``masks.from_torch``. With
    ``kdim`` and ``vdim`` of one width, ``convert.from_torch(m)(x, context)`` equals
    ``m(x, context, context)[0]``. What is frozen stays frozen. Not converted: ``kdim`` and
    ``vdim`` that differ, ``add_bias_kv``, ``add_zero_attn``, and what is not bare
    (``ValueError``); subclasses that compute otherwise, as those of ``torch.ao``
    (``TypeError``).

    >>> import torch
    >>> source = nn.MultiheadAttention(12, 3, batch_first=True)
    >>> x = torch.randn(2, 6, 12)
    >>> torch.allclose(from_torch(source)(x), source(x, x, x)[0], atol=1e-6)
    True
    """
    known.only(source, KNOWN, "is not converted by convert.from_torch", known.ITSELF)
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
    attention = MultiHeadAttention(
        source.embed_dim, source.num_heads, d_context=source.kdim, dropout=source.dropout
    ).to(source.out_proj.weight)
    widths = [source.embed_dim] * 3
    weights = [
        source.q_proj_weight,
        source.k_proj_weight,
        source.v_proj_weight,
    ]
    if source.in_proj_weight is not None:
        weights = parameters.cut(source.in_proj_weight, widths)
    biases = parameters.cut(source.in_proj_bias, widths)
    parameters.fill(
        attention, [*weights, source.out_proj.weight], [*biases, source.out_proj.bias]
    )
    return attention.train(source.training)
