"""What one rank holds: its heads as an attention of their own.

Source: Shoeybi et al., "Megatron-LM", section 3, arXiv 1909.08053.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import checks, copying, masks
from mhsa_lib.fused.attention import FusedMultiHeadAttention
from mhsa_lib.stages import Wire
from mhsa_lib.variants.latent import LatentAttention, LatentQuery

LATENT: copying.Classes = copying.LATENT | {
    "project.W_Q": (nn.Linear, LatentQuery),
    "project.W_Q.W_DQ": (nn.Linear,),
    "project.W_Q.norm": (),
    "project.W_Q.q_latent": (Wire,),
    "project.W_Q.W_UQ": (nn.Linear,),
    "project.W_DKV": (nn.Linear,),
}
"""Latent attention whose heads are made by known maps; norms see the latents, not the heads."""


def shard_of(attention: Any, rank: int, ranks: int) -> Any:
    """Return a copy of the heads of one rank: the same kind of attention, with fewer heads.

    Until W_O no head reads another, so any group of heads, with its rows of the weights of W_Q,
    W_K and W_V and its columns of that of W_O, is an attention by itself, and the outputs of
    all groups add up to that of the whole. ``b_O`` is in the shard of rank 0 and zero in the
    others, or the sum would have it once per rank. A latent is whole in every shard, with all
    that makes it, because every head reads all of it. Raises ``ValueError`` as ``divisible``
    does, and for a rank that does not exist.

    >>> from mhsa_lib import MultiHeadAttention
    >>> mha, x = MultiHeadAttention(12, 4, bias=True), torch.randn(6, 12)
    >>> one, other = shard_of(mha, 0, ranks=2), shard_of(mha, 1, ranks=2)
    >>> one.n_heads, torch.allclose(one(x) + other(x), mha(x), atol=1e-6)
    (2, True)
    """
    if not 0 <= rank < ranks:
        raise ValueError(f"rank={rank} is not one of {ranks}; it must be 0 to {ranks - 1}.")
    if isinstance(attention, FusedMultiHeadAttention):
        # A plain cut through the packed W_QKV would give rank 0 all queries and no values.
        part = shard_of(attention.to_attention(), rank, ranks)
        return FusedMultiHeadAttention.from_attention(part)
    divisible(attention, ranks)
    part = copying.copied(attention)  # the source stays as it is, whatever happens here
    project, split = part.project, part.split
    if isinstance(part, LatentAttention):
        # Queries may have a latent too: then heads begin at the second of two maps.
        W_Q = project.W_Q.W_UQ if isinstance(project.W_Q, LatentQuery) else project.W_Q
        by_head = [W_Q, split.W_UK, split.W_UV]
    else:
        by_head = [project.W_Q, project.W_K, project.W_V]
    for W, axis in (*((W, 0) for W in by_head), (part.W_O, 1)):
        n = W.weight.shape[axis] // ranks
        copying.keep_features(W, axis, range(rank * n, (rank + 1) * n))
    if part.W_O.bias is not None and rank > 0:
        part.W_O.bias.data.zero_()
    return with_fewer_heads(part, ranks)


def with_fewer_heads(attention: Any, ranks: int) -> Any:
    """Divide the number of heads that the stages name by ``ranks``, in place."""
    for module in (attention, attention.split):
        for name in {"n_heads", "n_kv_heads"} & vars(module).keys():
            setattr(module, name, getattr(module, name) // ranks)
    return attention


def mask_of_heads(mask: Any, heads: slice, n_heads: int, device: torch.device) -> Any:
    """Return the part of a mask for some of ``n_heads`` heads; without heads it is the same."""

    def differs(allowed: Tensor) -> bool:
        return n_heads > 1 and allowed.ndim > 2 and allowed.shape[-3] == n_heads

    if isinstance(mask, masks.Predicate):
        # A predicate has no shape, so one query and one key are asked.
        position = torch.zeros(1, dtype=torch.long, device=device)
        if not differs(mask.allows(position[:, None], position)):
            return mask
        return masks.custom(lambda query, key: mask.allows(query, key)[..., heads, :, :])
    return mask[..., heads, :, :] if isinstance(mask, Tensor) and differs(mask) else mask


def divisible(attention: Any, ranks: int) -> None:
    """Check that each of ``ranks`` can get the same number of whole heads, also of KV heads.

    Raises ``ValueError`` if not, for a stage whose heads may depend on each other, and for an
    attention that is sharded already.

    >>> from mhsa_lib import MultiHeadAttention
    >>> divisible(MultiHeadAttention(12, 3), ranks=2)
    Traceback (most recent call last):
    ...
    ValueError: 2 ranks cannot share n_heads=3 evenly; possible numbers of ranks: 1, 3.
    """
    checks.positive(ranks=ranks)
    fix = "replace that stage, or leave this attention in one place"
    is_dtensor = (hasattr(parameter, "to_local") for parameter in attention.parameters())
    if hasattr(attention, "of_ranks") or any(is_dtensor):
        name = type(attention).__name__
        raise ValueError(f"{name} is sharded among ranks already; pass one that is whole.")
    if isinstance(attention, FusedMultiHeadAttention):
        attention = attention.to_attention()
    if isinstance(attention, LatentAttention):
        copying.check_modules(attention, LATENT, "may mix its heads", fix)
    else:
        copying.check_stages(attention, "may mix its heads", fix, copying.ROTARY)
        if next(attention.split.parameters(), None) is not None:
            raise ValueError(
                f"split={type(attention.split).__name__} has parameters that all heads use; "
                f"each rank would learn its own: {fix}."
            )
    n_heads = attention.n_heads
    n_kv_heads = getattr(attention.split, "n_kv_heads", n_heads)
    shared = math.gcd(n_heads, n_kv_heads)
    if shared % ranks:
        name, more = f"n_heads={n_heads}", ""
        if n_heads % ranks == 0:
            name = f"n_kv_heads={n_kv_heads}"
            more = "; for more, repeat each head of keys and values first"
        fits = [str(n) for n in range(1, shared + 1) if shared % n == 0]
        raise ValueError(
            f"{ranks} ranks cannot share {name} evenly; possible numbers of ranks: "
            f"{', '.join(fits)}{more}."
        )
