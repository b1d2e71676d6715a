"""Attentions of every kind and any valid size, for targets that take them all."""

from typing import Any

import torch
from torch import nn

from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention
from mhsa_lib.fused.latent import FusedLatentAttention
from mhsa_lib.rope.rotary import Rotary, RotarySplit
from mhsa_lib.variants import (
    CollaborativeAttention,
    ComposedAttention,
    GroupedQueryAttention,
    LatentAttention,
    MixtureOfHeadAttention,
    MultiQueryAttention,
    OverlappedAttention,
)
from mhsa_lib.variants.gated import GatedAttention
from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.problem import fill

DEFINED = (
    "plain",
    "grouped",
    "one key head",
    "rotary",
    "latent",
    "overlapped",
    "collaborative",
    "gated",
)
"""Kinds that ``definitions`` knows."""
STAGED = (*DEFINED, "composed", "mixture")
POSITIONAL = ("rotary", "latent")


def drawn(draw: Draw, kind: str, dtype: torch.dtype = torch.float64, **options: Any) -> Any:
    n_heads, d_head = draw.whole(1, 4), draw.one((1, 2, 3, 4, 6))
    n_heads = max(n_heads, 2) if kind == "mixture" else n_heads
    d_model = draw.one((n_heads * d_head, 4, 7, 12))
    options |= {"d_head": d_head, "bias": draw.chance(0.5)}
    sizes = d_model, n_heads
    n_kv_heads = draw.one([n for n in range(1, n_heads + 1) if n_heads % n == 0])
    if kind == "plain":
        module = MultiHeadAttention(*sizes, **options)
    elif kind == "grouped":
        module = GroupedQueryAttention(*sizes, n_kv_heads, **options)
    elif kind == "one key head":
        module = MultiQueryAttention(*sizes, **options)
    elif kind == "rotary":
        options["d_head"] = d_head = 2 * d_head
        split = RotarySplit(n_heads, Rotary(d_head, draw.one((10.0, 1e4))), n_kv_heads)
        module = GroupedQueryAttention(*sizes, n_kv_heads, split=split, **options)
    elif kind == "latent":
        module = latent(draw, sizes, options)
    elif kind == "overlapped":
        module = OverlappedAttention(*sizes, draw.whole(0, d_head), **options)
    elif kind == "collaborative":
        module = CollaborativeAttention(*sizes, draw.whole(1, 9), **options)
    elif kind == "gated":
        module = GatedAttention(*sizes, **options)
        module.gate.beta = draw.one((0.33, 2 / 3))
    elif kind == "composed":
        module = ComposedAttention(*sizes, rank=draw.whole(1, n_heads), **options)
    elif kind == "mixture":
        n_shared = draw.whole(0, n_heads - 1)
        n_active = draw.whole(1, n_heads - n_shared)
        module = MixtureOfHeadAttention(*sizes, n_shared, n_active, **options)
    elif kind == "fused":
        module = FusedMultiHeadAttention(*sizes, n_kv_heads=n_kv_heads, **options)
    elif kind == "fused latent":
        module = FusedLatentAttention(latent(draw, sizes, options))
    else:
        raise ValueError(f"no kind {kind} of attention is drawn here")
    fill(module, 2.0)
    draw.note(attention=kind, sizes=f"{sizes} kv={n_kv_heads} {options}")
    return module.to(dtype).eval()


def latent(draw: Draw, sizes: tuple[int, int], options: dict[str, Any]) -> LatentAttention:
    own = {
        "d_q_latent": draw.one((None, draw.whole(1, sizes[0]))),
        "d_nope": draw.one((None, 1, 3)),
    }
    if draw.chance(0.4):
        own["norm"] = nn.Identity
    rope = draw.one((0, 2, 4))
    draw.note(latent=f"d_rope={rope}, {own}")
    return LatentAttention(*sizes, draw.whole(1, sizes[0]), rope, **own, **options)
