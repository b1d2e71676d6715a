"""Attention in tiles: the weights of a few queries at a time, never those of all.

A few hundred queries of a head meet all the keys they may look at (``cuts``); their scores
become weights and then ``z`` while they still lie in the processor's cache. Backward, a tile is
computed again, but for few tokens in bfloat16. Memory is linear in the number of tokens, and
keys outside of the band are never touched; only where gradients are differentiated again are
all weights written.

Source: Rabe and Staats, "Self-attention Does Not Need O(n²) Memory", arXiv 2112.05682; Dao et
al., "FlashAttention", section 3.1, arXiv 2205.14135.
"""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mhsa_lib import functional
from mhsa_lib.fused import cuts, onednn
from mhsa_lib.fused.call import Call
from mhsa_lib.fused.cuts import Tile, up
from mhsa_lib.masks.structure import Band
from mhsa_lib.shapes import HeadOutputs

FEW = 512
"""Keys up to which weights in bfloat16 are kept for the backward pass.

Computing them again takes time, keeping them memory with the square of the length. Under
autocast, a backward pass of plain products took modules to 0.44 and 0.43 over 128 and 512
tokens, SDPA's to 0.74 and 0.46; beyond, SDPA's was ahead (two cores of a Sapphire Rapids Xeon).
"""


def attend_in_tiles(call: Call) -> HeadOutputs:
    """z under a band, with gradients; k and v may have fewer heads.

    A query that sees nothing gets zeros. Where q may be spent, and without gradients, z takes
    the place of q in memory.

    >>> q, k, v = (torch.randn(1, 2, 5, 4) for _ in range(3))
    >>> z = attend_in_tiles(Call.of(q, k, v, None, scale=0.5))
    >>> exact = F.scaled_dot_product_attention(q, k, v, scale=0.5)
    >>> torch.allclose(z, exact, atol=1e-6)
    True
    """
    q, k, v = (t.reshape(-1, *t.shape[-3:]) for t in (call.q, call.k, call.v))
    band, shift = call.band, call.shift
    assert band is not None, "conditions.against_tiles was not asked"
    if call.spend_q and not torch.is_grad_enabled() and q.shape[-1] == v.shape[-1]:
        tiles = cuts.cut(call.n_query, call.n_key, band, shift, q.dtype)
        z = _mix(q, q, k, v, call.scale, tiles, None)
    else:
        z = _Tiles.apply(q, k, v, call.scale, band, shift)
    return z.view(*call.q.shape[:-1], v.shape[-1])


def keeps(q: Tensor, k: Tensor) -> bool:
    """Whether weights are kept for the backward pass: in bfloat16, of at most ``FEW`` keys.

    That is at most a kilobyte for each token and head. Beyond, memory would be quadratic.
    """
    return q.dtype is torch.bfloat16 and k.shape[-2] <= FEW


def _mix(
    z: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    tiles: list[Tile],
    kept: list[Tensor] | None,
) -> Tensor:
    """Fill z tile by tile; it may be q itself: a tile is read before it is written.

    The weights of every tile are ``kept``, where there is a list for them.
    """
    with torch.autocast("cpu", enabled=False):
        for queries, keys in _heads(q, k, tiles):
            K, V_T = _rows(k[keys]), _turned(_padded(v[keys]))
            for rows, cols, below in tiles:
                Q = _padded(q[queries][..., rows, :]) * scale
                weights = _weights(Q, K[..., cols, :], below)
                z[queries][..., rows, :] = _some(onednn.product(weights, _own(V_T, cols)), rows)
                if kept is not None:
                    kept.append(weights)
                del weights  # before those of the next tile are made
    seen = (tiles[0].rows.start, tiles[-1].rows.stop) if tiles else (0, 0)
    z[..., : seen[0], :] = 0.0
    z[..., seen[1] :, :] = 0.0
    return z


class _Tiles(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, scale: float, band: Band, shift: int
    ) -> Tensor:
        ctx.tiles, ctx.scale = cuts.cut(q.shape[-2], k.shape[-2], band, shift, q.dtype), scale
        ctx.band, ctx.shift = band, shift
        kept: list[Tensor] | None = [] if any(ctx.needs_input_grad) and keeps(q, k) else None
        z = _mix(_like(q, v.shape[-1]), q, k, v, scale, ctx.tiles, kept)
        ctx.save_for_backward(q, k, v, *(kept or ()))
        return z

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, *saved = ctx.saved_tensors
        if onednn.differentiated_again(grad):
            allowed = _whole_mask(q, k, ctx.band, ctx.shift)
            return *_differentiable(grad, q, k, v, ctx.scale, allowed), None, None, None
        # Sums over tiles, and over heads that share keys, are sums of float32.
        to_q, to_k, to_v = _like(q, q.shape[-1]), _sums(k), _sums(v)
        kept = iter(saved)
        with torch.autocast("cpu", enabled=False):
            for queries, keys in _heads(q, k, ctx.tiles):
                K, V = _rows(k[keys]), _rows(v[keys])
                K_T = _turned(K)
                on_K, on_V = _sums(K), _sums(V)
                for rows, cols, below in ctx.tiles:
                    Q = _padded(q[queries][..., rows, :]) * ctx.scale
                    G = _rows(grad[queries][..., rows, :])
                    weights = next(kept) if saved else _weights(Q, K[..., cols, :], below)
                    on_V[..., cols, :] += onednn.product(_turned(weights), _turned(G))
                    on_weights = onednn.product(G, V[..., cols, :])
                    on_scores = torch.ops.aten._softmax_backward_data(
                        on_weights, weights, -1, weights.dtype
                    )
                    on_K[..., cols, :] += onednn.product(_turned(on_scores), _turned(Q))
                    on_Q = onednn.product(on_scores, _own(K_T, cols))
                    to_q[queries][..., rows, :] = _some(on_Q, rows) * ctx.scale
                to_k[keys] += on_K[..., : k.shape[-2], :]
                to_v[keys] += on_V[..., : k.shape[-2], :]
        return to_q, to_k.to(k.dtype), to_v.to(v.dtype), None, None, None


def _differentiable(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, scale: float, allowed: Tensor
) -> tuple[Tensor, ...]:
    """The gradients by plain products, which have derivatives; all weights are written."""
    with torch.autocast("cpu", enabled=False):
        wide = torch.promote_types(q.dtype, torch.float32)
        group = q.shape[1] // k.shape[1]
        Q, K, V, G = (t.to(wide) for t in (q, k, v, grad))
        K, V = (t.repeat_interleave(group, dim=1) for t in (K, V))
        weights = functional.softmax(functional.score(Q, K, scale), allowed)
        on_weights = G @ V.mT
        on_scores = weights * (on_weights - (on_weights * weights).sum(dim=-1, keepdim=True))
        to_q, to_k, to_v = on_scores @ K * scale, on_scores.mT @ Q * scale, weights.mT @ G
        to_k, to_v = (_over_groups(t, group) for t in (to_k, to_v))
    return to_q.to(q.dtype), to_k.to(k.dtype), to_v.to(v.dtype)


def _over_groups(part: Tensor, group: int) -> Tensor:
    return part.reshape(len(part), -1, group, *part.shape[2:]).sum(dim=2)


def _whole_mask(q: Tensor, k: Tensor, band: Band, shift: int) -> Tensor:
    query = torch.arange(shift, shift + q.shape[-2], device=q.device)[:, None]
    return band.allows(query, torch.arange(k.shape[-2], device=q.device))[None]


def _heads(q: Tensor, k: Tensor, tiles: list[Tile]) -> Iterator[tuple[Any, Any]]:
    """Which sequences and heads are multiplied at once, as indices into queries and into keys.

    oneDNN takes one matrix at a time in float32, in bfloat16 as many as fit a tile.
    """
    batch, n_heads = q.shape[:2]
    group = n_heads // k.shape[1]
    n_rows = max((up(rows.stop - rows.start) for rows, _, _ in tiles), default=1)
    size = n_rows * up(k.shape[-2]) * q.element_size()
    fit = cuts.TILE // size if q.dtype is not torch.float32 and group == 1 else 1
    heads_at_once = min(max(fit, 1), n_heads)
    at_once = max(fit // n_heads, 1)
    for first in range(0, batch, at_once):
        sequences = slice(first, first + at_once)
        for head in range(0, n_heads, heads_at_once):
            end = min(head + heads_at_once, n_heads)
            keys = slice(head // group, (end - 1) // group + 1)
            yield (sequences, slice(head, end)), (sequences, keys)


def _weights(Q: Tensor, K: Tensor, below: tuple[slice, Tensor] | None) -> Tensor:
    scores = onednn.product(Q, K)
    if below is not None:
        columns, addend = below
        scores[..., columns].add_(addend)
    return torch.softmax(scores, dim=-1, out=scores)


def _rows(part: Tensor) -> Tensor:
    """(…, token, d_head) in memory of its own, padded."""
    return _padded(part).contiguous()


def _padded(part: Tensor) -> Tensor:
    """With rows of zeros up to a round number."""
    missing = up(part.shape[-2]) - part.shape[-2]
    return F.pad(part, (0, 0, 0, missing)) if missing else part


def _turned(part: Tensor) -> Tensor:
    return _own(part.mT)


def _own(part: Tensor, columns: slice = slice(None)) -> Tensor:
    """Columns as they are multiplied: float32 wants them in memory of their own."""
    part = part[..., columns]
    return part.contiguous() if part.dtype is torch.float32 else part


def _some(part: Tensor, rows: slice) -> Tensor:
    return part[..., : rows.stop - rows.start, :]


def _sums(part: Tensor) -> Tensor:
    dtype = torch.promote_types(part.dtype, torch.float32)
    return torch.zeros_like(part, dtype=dtype)


def _like(q: Tensor, width: int) -> Tensor:
    """Zeros (batch, head, query, width) that lie in memory as (batch, query, head, width)."""
    batch, n_heads, n_query, _ = q.shape
    return q.new_zeros(batch, n_query, n_heads, width).transpose(1, 2)
