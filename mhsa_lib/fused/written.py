"""Attention by plain products, its weights written to memory: faster where they are few.

Scores, softmax, mixture: the definition, in the order of the factors that is read fastest. A
mask is added, -inf where it forbids, which takes a fraction of the time of filling.
"""

from functools import lru_cache

import torch
from torch import Tensor

from mhsa_lib import masks
from mhsa_lib.masks.structure import Band
from mhsa_lib.shapes import HeadOutputs, Keys, Queries, Values


def attend(q: Queries, k: Keys, v: Values, allowed: Tensor | None, scale: float) -> HeadOutputs:
    """z of a boolean mask, None for all; a query that sees nothing gets zeros.

    >>> q, k, v = (torch.randn(2, 3, 5, 4) for _ in range(3))
    >>> z = attend(q, k, v, None, scale=0.5)
    >>> torch.allclose(z, torch.softmax(q @ k.mT / 2, dim=-1) @ v, atol=1e-6)
    True
    """
    addend, blind = (None, None) if allowed is None else _added(allowed, q.dtype)
    return _mixed(q, k, v, addend, blind, scale)


def attend_in_band(
    q: Queries, k: Keys, v: Values, band: Band, shift: int, scale: float
) -> HeadOutputs:
    """z of a band, whose mask is made once; the query in row i stands at i + ``shift``.

    >>> q, k, v = (torch.randn(2, 3, 5, 4) for _ in range(3))
    >>> z = attend_in_band(q, k, v, Band(ahead=0), 0, scale=0.5)
    >>> torch.allclose(z, attend(q, k, v, masks.causal.dense(5, 5), 0.5), atol=1e-6)
    True
    """
    addend, blind = _of_band(band, shift, q.shape[-2], k.shape[-2], q.dtype)
    return _mixed(q, k, v, addend, blind, scale)


def attend_few(q: Queries, k: Keys, v: Values, scale: float) -> HeadOutputs:
    """z of one query or a few and very many keys: as the left factor, keys are read faster.

    >>> q, k, v = torch.randn(2, 1, 4), torch.randn(2, 9, 4), torch.randn(2, 9, 4)
    >>> torch.allclose(attend_few(q, k, v, 0.5), attend(q, k, v, None, 0.5), atol=1e-6)
    True
    """
    scores = (k @ (scale * q).mT).mT
    return torch.softmax(scores, dim=-1).to(v.dtype) @ v


def _mixed(
    q: Queries, k: Keys, v: Values, addend: Tensor | None, blind: Tensor | None, scale: float
) -> HeadOutputs:
    scores = (scale * q) @ k.mT
    if addend is not None:
        scores += addend
    z = torch.softmax(scores, dim=-1).to(v.dtype) @ v
    return z if blind is None else z.masked_fill(blind, 0.0)


def _added(allowed: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
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
