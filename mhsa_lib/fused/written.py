"""Attention by plain products, its weights written to memory: faster where they are few.

Scores, softmax, mixture: the definition, in the order of the factors that is read fastest. A
mask is added, -inf where it forbids, which takes a fraction of the time of filling.
"""

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from mhsa_lib import masks
from mhsa_lib.fused.call import Call
from mhsa_lib.masks.structure import Band
from mhsa_lib.shapes import HeadOutputs


def attend_by_written_weights(call: Call) -> HeadOutputs:
    """z under any mask; a query that sees nothing gets zeros.

    >>> q, k, v = (torch.randn(2, 3, 5, 4) for _ in range(3))
    >>> z = attend_by_written_weights(Call.of(q, k, v, None, scale=0.5))
    >>> torch.allclose(z, torch.softmax(q @ k.mT / 2, dim=-1) @ v, atol=1e-6)
    True
    """
    q, k, v, addend, blind = call.q, call.k, call.v, None, None
    if call.band is None:
        allowed = masks.resolve(call.mask, (*q.shape[:-1], k.shape[-2]), q.device)
        addend, blind = _added(allowed, q.dtype)
    elif not call.sees_all:
        addend, blind = _of_band(call.band, call.shift, call.n_query, call.n_key, q.dtype)
    scores = (call.scale * q) @ k.mT
    if addend is not None:
        scores += addend
    z = torch.softmax(scores, dim=-1).to(v.dtype) @ v
    return z if blind is None else z.masked_fill(blind, 0.0)


def _added(allowed: Any, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
    """What is added to the scores, and the queries that see nothing, if there are any."""
    blind = ~allowed.any(dim=-1, keepdim=True)
    if not blind.any():
        return masks.to_additive(allowed, dtype), None
    return masks.to_additive(allowed | blind, dtype), blind


@lru_cache(maxsize=32)
def _of_band(
    band: Band, shift: int, n_query: int, n_key: int, dtype: torch.dtype
) -> tuple[Tensor, Tensor | None]:
    with torch.inference_mode(False):  # it will also be met by tensors that have gradients
        query = torch.arange(shift, shift + n_query, device="cpu")[:, None]
        key = torch.arange(n_key, device="cpu")  # kept: not on what is the default just now
        return _added(band.allows(query, key), dtype)
