"""Our five stages by a fast kernel, for a pass in which nobody looks into them.

The kernel writes no (query × key) tensor, and a step behind a cache has no loop over heads. The
weights are those of the five stages, read in each call, so a change of them counts here too.

Source: Dao et al., "FlashAttention", arXiv 2205.14135; Shazeer, "Fast Transformer Decoding",
arXiv 1911.02150 (the cache of keys and values).
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mhsa_book.transformer.decoder_only import DecoderOnly
from mhsa_lib import checks
from mhsa_lib.execution_mode import has_no_hooks
from mhsa_lib.rope.rotary import HALVES, Rotary, RotarySplit
from mhsa_lib.stages import Concat, Project, Wire
from mhsa_lib.variants.grouped import GroupedAttend, GroupedQueryAttention

PLAIN = [
    *(GroupedQueryAttention, Project, nn.Linear, nn.Linear, nn.Linear),
    *(RotarySplit, Rotary, nn.Identity, nn.Identity, Wire, Wire),
    *(GroupedAttend, Wire, Wire, nn.Dropout, Concat, nn.Linear),
]
"""The classes of all modules of an attention of ``RotaryLayer``, in the order of the module."""


def is_plain(attention: Any) -> bool:
    """Whether an attention is that of ``RotaryLayer``, unchanged, and nobody listens to it."""
    modules = [*attention.modules()]
    return (
        [type(module) for module in modules] == PLAIN
        and attention.split.rotary.pairing is HALVES
        and attention.split.rotary.scaling is None
        and not attention.training
        and all(has_no_hooks(module) for module in modules)
    )


class KeysAndValues:
    """Room for the keys and values of one text in every layer: the KV cache.

    ``of_layer`` is (layer, keys and values, 1, kv_head, token, d_head), of ``n_bytes`` bytes.
    ``is_plain`` says of every layer whether it is used there.
    """

    def __init__(self, decoder: DecoderOnly, n_tokens: int, is_plain: list[bool]) -> None:
        checks.positive(n_tokens=n_tokens)
        self.is_plain = is_plain
        split: Any = decoder.layers[0].attention.split
        table = decoder.embed.weight
        shape = len(decoder.layers), 2, 1, split.n_kv_heads, n_tokens, split.rotary.d_rotary
        self.of_layer = table.new_empty(shape)

    @property
    def n_bytes(self) -> int:
        """Bytes of the whole cache."""
        return self.of_layer.nbytes


def rotation(attention: Any, first: int, n: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Cosine and sine, each (token, pair), for ``n`` tokens from position ``first`` on."""
    positions = torch.arange(first, first + n, device=like.device, dtype=torch.float32)
    angles = positions[:, None] * attention.split.rotary.frequencies(device=like.device)
    return angles.cos().to(like.dtype), angles.sin().to(like.dtype)


def attend(
    attention: Any,
    x: Tensor,
    angles: tuple[Tensor, Tensor],
    past: Tensor | None = None,
    first: int = 0,
) -> Tensor:
    """What ``attention(x, mask=masks.causal)`` gives for x (text, token, d_model).

    ``angles`` are those of ``rotation``. With ``past``, keys and values of one layer, x is one
    text that goes on behind ``first`` tokens: a whole text from 0, or one token.
    """
    project, split = attention.project, attention.split
    n = x.shape[-2]
    q = _rotated(_heads(project.W_Q(x), split.n_heads), *angles)
    k = _rotated(_heads(project.W_K(x), split.n_kv_heads), *angles)
    v = _heads(project.W_V(x), split.n_kv_heads)
    if past is not None:
        past[0, :, :, first : first + n], past[1, :, :, first : first + n] = k, v
        k, v = past[0, :, :, : first + n], past[1, :, :, : first + n]
    scale = attention.attend.scale
    if n == 1:
        # Query heads that share a KV head are as many queries of it: nothing is repeated.
        grouped = q.view(len(q), split.n_kv_heads, -1, q.shape[-1])
        z = F.scaled_dot_product_attention(grouped, k, v, scale=scale).view_as(q)
    else:
        z = F.scaled_dot_product_attention(
            q, k, v, is_causal=True, scale=scale, enable_gqa=True
        )
    return attention.W_O(z.transpose(-2, -3).flatten(-2))


def _heads(rows: Tensor, n_heads: int) -> Tensor:
    return rows.unflatten(-1, (n_heads, -1)).transpose(-2, -3)


def _rotated(heads: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = heads.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
