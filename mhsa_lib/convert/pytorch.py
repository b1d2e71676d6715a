"""PyTorch's own multi-head attention in our five stages."""

from typing import Any

from torch import Tensor, nn

from mhsa_lib import copying
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.convert.source import Source, fill, write
from mhsa_lib.convert.verification import compare, converted
from mhsa_lib.stages import maps_of

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
    return converted(read, _build, _run, inputs=_inputs(source), verify=verify)


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


def to_torch(attention: MultiHeadAttention, *, verify: bool = True) -> nn.MultiheadAttention:
    """Return ``nn.MultiheadAttention`` with our weights: the way back of ``from_torch``.

    It has ``batch_first=True``, and ``to_torch(a)(x, x, x)[0]`` equals ``a(x)``. Dtype, device
    and mode come along; a packed parameter learns if any part of it does. Raises as
    ``mhsa_lib.convert`` says, and ``ValueError`` for what has no place there: other stages than
    the standard ones, a d_head that is not d_model / n_heads, another scale, and a bias in some
    of the maps only.

    >>> import torch
    >>> attention, x = MultiHeadAttention(12, 3), torch.randn(2, 6, 12)
    >>> torch.allclose(to_torch(attention)(x, x, x)[0], attention(x), atol=1e-6)
    True
    """
    action, fix = "has no place in nn.MultiheadAttention", "keep the attention here"
    copying.check_stages(attention, action, fix, copying.UNSHARED)
    d_model, n_heads, d_head = attention.d_model, attention.n_heads, attention.d_head
    if n_heads * d_head != d_model or attention.attend.scale != d_head**-0.5:
        raise ValueError(
            f"n_heads={n_heads} of d_head={d_head}, with attend.scale="
            f"{attention.attend.scale:g}, {action}: its heads are d_model={d_model} together, "
            f"and its scale is 1/√d_head; {fix}, or multiply W_Q by the ratio of the scales."
        )
    W_Q, W_K, W_V, W_O = maps = [*maps_of(attention).values()]
    biases = [W.bias for W in maps if W.bias is not None]
    if len(biases) not in (0, len(maps)):
        raise ValueError(
            f"{len(biases)} of W_Q, W_K, W_V and W_O have a bias, but nn.MultiheadAttention "
            f"has all or none; give the others one of zeros."
        )
    options: Any = dict.fromkeys(("kdim", "vdim"), attention.d_context)
    options |= {
        "bias": bool(biases),
        "batch_first": True,
        "dropout": attention.attend.dropout.p,
    }
    options |= {"device": W_Q.weight.device, "dtype": W_Q.weight.dtype}
    theirs = nn.utils.skip_init(nn.MultiheadAttention, d_model, n_heads, **options)
    if theirs.in_proj_weight is not None:
        write(theirs.in_proj_weight, W_Q.weight, W_K.weight, W_V.weight)
    else:
        for name, W in zip("qkv", maps, strict=False):
            write(getattr(theirs, f"{name}_proj_weight"), W.weight)
    write(theirs.out_proj.weight, W_O.weight)
    if biases:
        write(theirs.in_proj_bias, *biases[:3])
        write(theirs.out_proj.bias, biases[3])
    theirs.train(attention.training)
    if verify:
        compare(theirs, attention, _run, _inputs(theirs))
    return theirs


def _inputs(source: nn.MultiheadAttention) -> tuple[str, ...]:
    return ("x", "context") if source.kdim == source.embed_dim else ("context",)
