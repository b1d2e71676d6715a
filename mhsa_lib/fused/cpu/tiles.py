"""Attention in tiles: the weights of a few queries at a time, never those of all.

A few hundred queries of a head meet all the keys they attend to (``cuts``). Their scores become
weights and then z while they still lie in the processor's cache, so memory is linear in the
number of tokens, and keys outside of the band are never touched. SDPA does the same with
smaller tiles; in bfloat16, on the processors we could measure, its products are slower.

Source: Rabe and Staats, "Self-attention Does Not Need O(n²) Memory", arXiv 2112.05682.
"""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mhsa_lib.execution_mode import is_plain_cpu_tensor
from mhsa_lib.fused.call import DROPOUT, NOT_A_BAND, Call, Kernel
from mhsa_lib.fused.cpu import cuts
from mhsa_lib.fused.cpu.blocks import is_trained
from mhsa_lib.fused.cpu.cuts import Tile, round_up
from mhsa_lib.shapes import HeadOutputs

FEWEST = 128
"""Queries and keys below which filling up a tile costs more than it saves."""


def _tiles_unsupported_reason(call: Call) -> str | None:
    q, k = call.q, call.k
    if call.band is None:
        return NOT_A_BAND
    if q.dtype is not torch.bfloat16:
        return "not bfloat16"
    if min(call.n_query, call.n_key) < FEWEST:
        return f"fewer than {FEWEST} tokens"
    if call.dropout:
        return DROPOUT
    if is_trained(q) or is_trained(k) or is_trained(call.v):
        return "tiles have no backward pass"
    return None if is_plain_cpu_tensor(q, k, call.v) else "not plain numbers on a CPU"


@torch.no_grad()
def attend_in_tiles(call: Call) -> HeadOutputs:
    """Compute z under a band, without gradients; k and v may have fewer heads.

    A query that attends to nothing gets zeros.

    >>> q, k, v = (torch.randn(1, 2, 5, 4) for _ in range(3))
    >>> z = attend_in_tiles(Call.of(q, k, v, None, scale=0.5))
    >>> exact = F.scaled_dot_product_attention(q, k, v, scale=0.5)
    >>> torch.allclose(z, exact, atol=1e-6)
    True
    """
    q, k, v = (t.reshape(-1, *t.shape[-3:]) for t in (call.q, call.k, call.v))
    assert call.band is not None, "a call with another mask is not for tiles"
    tiles = cuts.cut(call.n_query, call.n_key, call.band, call.shift, q.dtype)
    batch, n_heads, n_query, _ = q.shape
    # As (batch, query, head, d_head) in memory, so that concatenating the heads is a view.
    z = q.new_zeros(batch, n_query, n_heads, v.shape[-1]).transpose(1, 2)
    with torch.autocast("cpu", enabled=False):
        for queries, keys in _heads_at_once(q, k, tiles):
            K, V = _filled_up(k[keys]), _filled_up(v[keys])
            for rows, columns, addend in tiles:
                Q = _filled_up(q[queries][..., rows, :]) * call.scale
                scores = Q @ K[..., columns, :].mT
                if addend is not None:
                    undecided, below = addend
                    scores[..., undecided].add_(below)
                torch.softmax(scores, dim=-1, out=scores)
                part = scores @ V[..., columns, :]
                z[queries][..., rows, :] = part[..., : rows.stop - rows.start, :]
    return z.view(*call.q.shape[:-1], v.shape[-1])


TILES = Kernel("tiles", _tiles_unsupported_reason, attend_in_tiles)


def _heads_at_once(q: Tensor, k: Tensor, tiles: list[Tile]) -> Iterator[tuple[Any, Any]]:
    """Yield which sequences and heads fit one tile together, as indices into q and into k."""
    batch, n_heads = q.shape[:2]
    group = n_heads // k.shape[1]
    n_rows = max((round_up(rows.stop - rows.start) for rows, _, _ in tiles), default=1)
    fit = cuts.TILE_BYTES // (n_rows * round_up(k.shape[-2]) * q.element_size())
    fit = fit if group == 1 else 1  # heads of a group would need their keys repeated
    n_heads_at_once, n_sequences = min(max(fit, 1), n_heads), max(fit // n_heads, 1)
    for first in range(0, batch, n_sequences):
        sequences = slice(first, first + n_sequences)
        for head in range(0, n_heads, n_heads_at_once):
            end = min(head + n_heads_at_once, n_heads)
            keys = slice(head // group, (end - 1) // group + 1)
            yield (sequences, slice(head, end)), (sequences, keys)


def _filled_up(part: Tensor) -> Tensor:
    """Return a part with rows of zeros up to a multiple of ``cuts.STEP``."""
    missing = round_up(part.shape[-2]) - part.shape[-2]
    return F.pad(part, (0, 0, 0, missing)) if missing else part
