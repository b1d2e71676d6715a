"""A rule of which little is known, asked about some queries at a time.

No boolean tensor of all queries and keys is made, and keys outside of the band that the rule
states are not touched. Each block is one call of SDPA under its own small tensor.
"""

import torch
from torch import Tensor

from mhsa_lib.fused import sdpa
from mhsa_lib.fused.call import Call
from mhsa_lib.fused.sequences import attend_to_nothing
from mhsa_lib.shapes import HeadOutputs

COARSE = 256
"""Queries in a block, whose tensor takes this many bytes for every key.

Under rules of one's own over 2,048 tokens, blocks of 64, 128, 512 and 1,024 queries took 1.24,
0.99 to 1.12, 0.89 to 0.98 and 0.95 of that time (float32, 8 heads of 64, one core of an EPYC).
"""

FINE = 64
"""Queries in a block where SDPA is too coarse: it leaves out what lies ahead by 512 keys.

Causal attention over 512 tokens took 0.82 of SDPA's own causal time in such blocks, the whole
module 0.92 on two cores and 0.85 on one; over 2,048 tokens 1.23 to 1.45 (float32, Sapphire
Rapids Xeon).
"""

FEWEST_FINE, MOST_FINE = 256, 1024
"""From how many queries on ``FINE`` blocks are faster, and up to how many: see ``FINE``."""


def cuts_finely(call: Call) -> bool:
    """Whether blocks of a causal mask are ``FINE``, and with that faster than causal SDPA.

    Never under dropout: what is computed again for a checkpoint, now with gradients, has to
    draw the same numbers in the same blocks.
    """
    few_enough = FEWEST_FINE <= call.n_query <= MOST_FINE
    return few_enough and call.q.is_cpu and not (call.dropout or trains(call.q))


def trains(q: Tensor) -> bool:
    """Whether gradients of q will be asked for."""
    return torch.is_grad_enabled() and q.requires_grad


def attend_in_blocks(call: Call) -> HeadOutputs:
    """The rule asked about some queries at a time, and about the keys in their band."""
    q, k, v, shift, band = call.q, call.k, call.v, call.shift, call.mask.structure.band
    n_query, n_key, size = call.n_query, call.n_key, FINE if cuts_finely(call) else COARSE
    parts = []
    for start in range(0, n_query, size):
        end = min(start + size, n_query)
        low, high = band.keys(start + shift, end + shift, n_key)
        query = torch.arange(start + shift, end + shift, device=q.device)[:, None]
        key = torch.arange(low, high, device=q.device)
        # A rule is not asked about no key at all: it need not have an answer.
        allowed = call.mask(query, key) if high > low else key.new_zeros(0, dtype=torch.bool)
        allowed = allowed.expand(*allowed.shape[:-2], end - start, high - low)
        near = k[..., low:high, :], v[..., low:high, :]
        parts.append(sdpa.under(q[..., start:end, :], *near, allowed, call))
    return torch.cat(parts, dim=-2) if parts else attend_to_nothing(call)
