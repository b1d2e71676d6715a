"""Other ways to merge the KV heads of a group, which Ainslie et al. compare with the mean.

Each is a ``merge`` of ``mhsa_book.conversions.grouping.pooled``.

Source: Ainslie et al., "GQA", section 3.3, arXiv 2305.13245.
"""

import torch
from einops import rearrange
from torch import Tensor, nn


def first(heads: Tensor) -> Tensor:
    """Return the first head of the group; the others are lost.

    >>> first(torch.tensor([[[1.0]], [[3.0]]]))
    tensor([[1.]])
    """
    return heads[0]


def fresh(heads: Tensor) -> Tensor:
    """Return nothing of the heads: new random numbers, drawn as ``nn.Linear`` draws its own.

    >>> fresh(torch.ones(2, 4, 100)).abs().max().item() <= 0.1
    True
    """
    bound = heads.shape[-1] ** -0.5
    return torch.empty_like(heads[0]).uniform_(-bound, bound)


def write(W: nn.Linear, heads: Tensor) -> None:
    """Do the inverse of ``grouping.by_head``: into the weight, and the bias if there is one.

    >>> from mhsa_book.conversions.grouping import by_head
    >>> W, heads = nn.Linear(5, 6), torch.randn(2, 3, 6)
    >>> write(W, heads)
    >>> torch.equal(by_head(W, 3), heads)
    True
    """
    rows = rearrange(heads, "head d_head column -> (head d_head) column")
    with torch.no_grad():
        W.weight.copy_(rows[:, : W.in_features])
        if W.bias is not None:
            W.bias.copy_(rows[:, -1])
