"""The mathematics of multi-head attention: pure functions, no parameters, no state.

Source: Vaswani et al., "Attention Is All You Need", section 3.2, arXiv 1706.03762.
"""

import torch
from einops import rearrange, repeat
from torch import Tensor

from mhsa_lib import checks
from mhsa_lib.shapes import (
    HeadOutputs,
    HeadRows,
    Heads,
    Keys,
    Mask,
    Queries,
    Rows,
    Scores,
    Weights,
)


def split_heads(rows: Rows, n_heads: int) -> Heads:
    """Split every row into equal parts, one for each head.

    Only strides change: the result is a view of ``rows``.

    >>> split_heads(torch.zeros(2, 6, 12), n_heads=3).shape
    torch.Size([2, 3, 6, 4])
    """
    checks.divides(d_heads=rows.shape[-1], n_heads=n_heads)
    return rearrange(rows, "... seq (head d_head) -> ... head seq d_head", head=n_heads)


def concat_heads(z: HeadOutputs) -> HeadRows:
    """Concatenate the heads again: the inverse of ``split_heads``.

    >>> rows = torch.arange(24.0).view(2, 12)
    >>> torch.equal(concat_heads(split_heads(rows, n_heads=3)), rows)
    True
    """
    return rearrange(z, "... head query d_head -> ... query (head d_head)")


def share_heads(kv: Keys, n_heads: int) -> Heads:
    """Repeat each key (or value) head for the query heads that share it: k1 k1 k2 k2.

    Source: Ainslie et al., "GQA", section 2.2, arXiv 2305.13245.

    >>> share_heads(torch.tensor([1.0, 2.0]).view(2, 1, 1), n_heads=4).flatten().tolist()
    [1.0, 1.0, 2.0, 2.0]
    """
    group = checks.divides(n_heads=n_heads, n_kv_heads=kv.shape[-3])
    return repeat(kv, "... head seq d_head -> ... (head group) seq d_head", group=group)


def score(q: Queries, k: Heads, scale: float) -> Scores:
    """Return how well each query matches each key: scaled dot products.

    >>> q = torch.full((1, 2, 64), 60.0, dtype=torch.float16)
    >>> (q @ q.mT).isinf().any().item(), score(q, q, scale=64**-0.5)[0, 0, 0].item()
    (True, 28800.0)
    """
    # Scaling q first gives the same result, and in half precision the unscaled dot product,
    # which may overflow, never exists.
    return (q * scale) @ k.mT


def softmax(scores: Scores, mask: Mask | None = None) -> Weights:
    """Turn each query's scores into a distribution over the keys it may attend to.

    Forbidden scores become -inf. A query that may attend to nothing gets weights of zero, with
    finite gradients; a NaN that came in stays visible.

    >>> softmax(torch.zeros(1, 2, 2), torch.tensor([[[True, False], [False, False]]]))
    tensor([[[1., 0.],
             [0., 0.]]])
    """
    if mask is None:
        return torch.softmax(scores, dim=-1)
    # A row of -inf alone would give NaN, so such rows keep their scores until the last step.
    sees_nothing = ~mask.any(dim=-1, keepdim=True)
    scores = scores.masked_fill(~mask & ~sees_nothing, float("-inf"))
    return torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)


def softmax_with_sinks(scores: Scores, sinks: Tensor, mask: Mask | None = None) -> Weights:
    """As ``softmax``, with one more score (head) in every row, whose share is left out.

    >>> softmax_with_sinks(torch.zeros(1, 1, 3), torch.zeros(1))
    tensor([[[0.2500, 0.2500, 0.2500]]])
    """
    # One more key with the score of the sink, the same for every query of a head.
    column = sinks.to(scores.dtype)[:, None, None].expand(*scores.shape[:-1], 1)
    if mask is not None:
        # The sink is open wherever a key is, so that an empty row stays empty.
        keys = mask.expand(*mask.shape[:-1], scores.shape[-1])
        mask = torch.cat([keys, keys.any(dim=-1, keepdim=True)], dim=-1)
    return softmax(torch.cat([scores, column], dim=-1), mask)[..., :-1]


def mix(weights: Weights, v: Heads) -> HeadOutputs:
    """Average the values with the weights.

    >>> mix(torch.tensor([[[0.5, 0.5]]]), torch.tensor([[[2.0], [4.0]]]))
    tensor([[[3.]]])
    """
    return weights @ v
