"""Kernels of a CPU: one query before many keys, and predicates of any kind.

Source: Rabe and Staats, "Self-attention Does Not Need O(n²) Memory", arXiv 2112.05682.
"""

import torch

from mhsa_lib.fused import sdpa
from mhsa_lib.fused.call import Call, Kernel
from mhsa_lib.shapes import HeadOutputs

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


def attend_in_blocks(call: Call) -> HeadOutputs:
    """Compute z under any predicate, without a boolean tensor of all queries and keys."""
    q, k, v, mask, parts = call.q, call.k, call.v, call.mask, []
    for start in range(0, call.n_query, ROWS):
        end = min(start + ROWS, call.n_query)
        first, last = start + call.shift, end + call.shift
        low, high = mask.structure.band.keys(first, last, call.n_key)
        query = torch.arange(first, last, device=k.device)[:, None]
        key = torch.arange(low, high, device=k.device)
        # A predicate need not have an answer about no key at all.
        allowed = mask(query, key) if high > low else key.new_zeros(0, dtype=torch.bool)
        allowed = allowed.expand(*allowed.shape[:-2], end - start, high - low)
        near = k[..., low:high, :], v[..., low:high, :]
        parts.append(sdpa.masked_sdpa(q[..., start:end, :], *near, allowed, call))
    return torch.cat(parts, dim=-2) if parts else sdpa.attend_to_nothing(call)


BLOCKS = Kernel("blocks of queries", lambda call: None, attend_in_blocks)
