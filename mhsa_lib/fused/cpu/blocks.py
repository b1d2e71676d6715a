"""A predicate of which little is known, asked about a block of queries at a time.

No boolean tensor of all queries and keys is made, and keys outside of the band that the
predicate states are not touched. Each block is one call of SDPA under its own small tensor.
"""

import torch
from torch import Tensor

from mhsa_lib.fused import sdpa
from mhsa_lib.fused.call import Call, Kernel
from mhsa_lib.fused.cpu.sequences import attend_to_nothing
from mhsa_lib.shapes import HeadOutputs

COARSE = 256
"""Queries in a block: its tensor takes as many bytes for every key."""

FINE = 64
"""Queries in a block where SDPA is too coarse: its causal mode skips keys in steps of 512."""

FEWEST_FINE, MOST_FINE = 256, 1024
"""Numbers of queries between which ``FINE`` blocks beat SDPA's causal mode."""


def is_trained(q: Tensor) -> bool:
    """Say whether gradients of q will be asked for."""
    return torch.is_grad_enabled() and q.requires_grad


def _is_cut_finely(call: Call) -> bool:
    # Never under dropout: a checkpoint computes the pass again, then with gradients, and has
    # to draw the same numbers in the same blocks.
    fits = FEWEST_FINE <= call.n_query <= MOST_FINE
    return fits and call.q.is_cpu and not (call.dropout or is_trained(call.q))


def _causal_unsupported_reason(call: Call) -> str | None:
    if reason := sdpa.causal_unsupported_reason(call):
        return reason
    return f"blocks of {FINE} queries skip more future keys" if _is_cut_finely(call) else None


CAUSAL = Kernel("causal SDPA", _causal_unsupported_reason, sdpa.attend_causally)


def attend_in_blocks(call: Call) -> HeadOutputs:
    """Compute z by asking the predicate about some queries and the keys in their band."""
    q, k, v, shift, band = call.q, call.k, call.v, call.shift, call.mask.structure.band
    n_query, n_key, size = call.n_query, call.n_key, FINE if _is_cut_finely(call) else COARSE
    parts = []
    for start in range(0, n_query, size):
        end = min(start + size, n_query)
        low, high = band.keys(start + shift, end + shift, n_key)
        query = torch.arange(start + shift, end + shift, device=q.device)[:, None]
        key = torch.arange(low, high, device=q.device)
        # A predicate need not have an answer about no key at all.
        allowed = call.mask(query, key) if high > low else key.new_zeros(0, dtype=torch.bool)
        allowed = allowed.expand(*allowed.shape[:-2], end - start, high - low)
        near = k[..., low:high, :], v[..., low:high, :]
        parts.append(sdpa.masked_sdpa(q[..., start:end, :], *near, allowed, call))
    return torch.cat(parts, dim=-2) if parts else attend_to_nothing(call)


BLOCKS = Kernel("blocks of queries", lambda call: None, attend_in_blocks)
