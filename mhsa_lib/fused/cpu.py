"""Kernels of a CPU: one query before many keys, bfloat16, and predicates of any kind.

Source: Rabe and Staats, "Self-attention Does Not Need O(n²) Memory", arXiv 2112.05682.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from mhsa_lib import functional, masks
from mhsa_lib.execution_mode import is_plain_cpu_tensor
from mhsa_lib.fused import sdpa
from mhsa_lib.fused.call import DROPOUT, NOT_A_BAND, Call, Kernel
from mhsa_lib.masks.structure import Band
from mhsa_lib.shapes import HeadOutputs, Keys, Queries, Values

# --- one query and very many keys ------------------------------------------------------------

MOST_CACHED = 4 * 2**20
"""Bytes of keys beyond which they no longer lie in a processor's cache between two layers."""


def _keys_first_unsupported_reason(call: Call) -> str | None:
    if reason := sdpa.one_query_unsupported_reason(call):
        return reason
    if call.k.numel() * call.k.element_size() < MOST_CACHED:
        return f"the keys take less than {MOST_CACHED // 2**20} MiB"
    return None if call.k.is_cpu else "not on a CPU"


def attend_keys_first(call: Call) -> HeadOutputs:
    """Compute z of one query, with the keys as the left factor of the product."""
    # A matrix that comes from memory is read faster as the left factor, row by row.
    scores = (call.k @ (call.scale * sdpa.heads_to_rows(call)).mT).mT
    return sdpa.rows_to_heads(torch.softmax(scores, dim=-1).to(call.v.dtype) @ call.v)


KEYS_FIRST = Kernel("keys first", _keys_first_unsupported_reason, attend_keys_first)

# --- a block of queries at a time ------------------------------------------------------------

ROWS = 256
"""Queries in a block. What is written for a block grows with the keys, and not their square."""


def _attend_by_blocks(
    call: Call, band: Band, allows: Any, core: Callable[..., HeadOutputs]
) -> HeadOutputs:
    """Ask ``allows`` about some queries and the keys in their band, and compute their z."""
    k, v, parts = call.k, call.v, []
    for start in range(0, call.n_query, ROWS):
        end = min(start + ROWS, call.n_query)
        first, last = start + call.shift, end + call.shift
        low, high = band.keys(first, last, call.n_key)
        query = torch.arange(first, last, device=k.device)[:, None]
        key = torch.arange(low, high, device=k.device)
        # A predicate need not have an answer about no key at all.
        allowed = allows(query, key) if high > low else key.new_zeros(0, dtype=torch.bool)
        allowed = allowed.expand(*allowed.shape[:-2], end - start, high - low)
        near = k[..., low:high, :], v[..., low:high, :]
        parts.append(core(call.q[..., start:end, :], *near, allowed, call))
    return torch.cat(parts, dim=-2) if parts else sdpa.attend_to_nothing(call)


def attend_in_blocks(call: Call) -> HeadOutputs:
    """Compute z under any predicate, without a boolean tensor of all queries and keys."""
    return _attend_by_blocks(call, call.mask.structure.band, call.mask, sdpa.masked_sdpa)


BLOCKS = Kernel("blocks of queries", lambda call: None, attend_in_blocks)

# --- bfloat16 --------------------------------------------------------------------------------

FEWEST = 64
"""Queries and keys in bfloat16 from which plain products are faster than SDPA's."""

FEWEST_TRAINED, MOST_TRAINED = 16, 128
"""The same in training. Beyond 128 the weights, kept for the gradients, take too much memory:
those of 128 tokens are as many numbers as q, k, v and z of a head with 32 dimensions."""


def _explicit_unsupported_reason(call: Call) -> str | None:
    q, k, v = call.q, call.k, call.v
    if q.dtype is not torch.bfloat16:
        return "not bfloat16"
    if call.band is None:
        return NOT_A_BAND
    if call.dropout:
        return DROPOUT
    few, many = min(call.n_query, call.n_key), max(call.n_query, call.n_key)
    if torch.is_grad_enabled() and any(t.requires_grad for t in (q, k, v)):
        if few < FEWEST_TRAINED or many > MOST_TRAINED:
            return f"not {FEWEST_TRAINED} to {MOST_TRAINED} tokens, with gradients"
    elif few < FEWEST:
        return f"fewer than {FEWEST} tokens"
    return None if is_plain_cpu_tensor(q, k, v) else "not plain numbers on a CPU"


def attend_by_explicit_weights(call: Call) -> HeadOutputs:
    """Compute z under a band, with the weights of one block of queries in memory.

    >>> q, k, v = (torch.randn(2, 3, 5, 4) for _ in range(3))
    >>> z = attend_by_explicit_weights(Call.of(q, k, v, None, scale=0.5))
    >>> torch.allclose(z, torch.softmax(q @ k.mT / 2, dim=-1) @ v, atol=1e-6)
    True
    """
    assert call.band is not None, "a call with another mask is not for explicit weights"
    with torch.autocast("cpu", enabled=False):  # it would compute the softmax in float32
        return _attend_by_blocks(call, call.band, call.band.allows, _write_weights)


def _write_weights(q: Queries, k: Keys, v: Values, allowed: Tensor, call: Call) -> HeadOutputs:
    k, v = (functional.share_heads(t, q.shape[-3]) for t in (k, v))
    scores = (call.scale * q) @ k.mT
    if call.sees_all:
        return torch.softmax(scores, dim=-1) @ v
    fully_masked = ~allowed.any(dim=-1, keepdim=True)
    # Adding zeros and infinities takes a fraction of the time of filling.
    scores += masks.to_additive(allowed | fully_masked, scores.dtype)
    return (torch.softmax(scores, dim=-1) @ v).masked_fill(fully_masked, 0.0)


EXPLICIT_WEIGHTS = Kernel(
    "explicit weights", _explicit_unsupported_reason, attend_by_explicit_weights
)
