"""Attention by plain products, its weights written to memory: faster where they are few.

Scores, softmax, mixture: the definition, in the order of the factors that is read fastest.
"""

import torch
from torch import Tensor

from mhsa_lib import masks
from mhsa_lib.shapes import HeadOutputs, Keys, Queries, Values


def attend(q: Queries, k: Keys, v: Values, allowed: Tensor | None, scale: float) -> HeadOutputs:
    """z of a boolean mask, None for all; a query that sees nothing gets zeros.

    >>> q, k, v = (torch.randn(2, 3, 5, 4) for _ in range(3))
    >>> z = attend(q, k, v, None, scale=0.5)
    >>> torch.allclose(z, torch.softmax(q @ k.mT / 2, dim=-1) @ v, atol=1e-6)
    True
    """
    scores = (scale * q) @ k.mT
    if allowed is None:
        return torch.softmax(scores, dim=-1).to(v.dtype) @ v
    sees_nothing = ~allowed.any(dim=-1, keepdim=True)
    scores += masks.to_additive(allowed | sees_nothing, scores.dtype)
    z = torch.softmax(scores, dim=-1).to(v.dtype) @ v
    return z.masked_fill(sees_nothing, 0.0) if sees_nothing.any() else z


def attend_few(q: Queries, k: Keys, v: Values, scale: float) -> HeadOutputs:
    """z of one query or a few and very many keys: as the left factor, keys are read faster.

    >>> q, k, v = torch.randn(2, 1, 4), torch.randn(2, 9, 4), torch.randn(2, 9, 4)
    >>> torch.allclose(attend_few(q, k, v, 0.5), attend(q, k, v, None, 0.5), atol=1e-6)
    True
    """
    scores = (k @ (scale * q).mT).mT
    return torch.softmax(scores, dim=-1).to(v.dtype) @ v
