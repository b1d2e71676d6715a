"""Trained heads of keys and values merged into fewer: plain attention becomes grouped.

A mean of numbers is not a mean of heads: the same head may be written in other coordinates.
``mhsa_book.conversions.align`` brings heads into common coordinates first.

Source: Ainslie et al., "GQA", section 2.1, arXiv 2305.13245.
"""

from collections.abc import Callable
from typing import Any

import torch
from einops import rearrange
from torch import Tensor, nn

from mhsa_lib import checks, copying
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.rope.rotary import RotarySplit
from mhsa_lib.stages import Project, Split
from mhsa_lib.variants.grouped import GroupedQueryAttention, GroupedSplit

Merge = Callable[[Tensor], Tensor]
"""(group, d_head, columns) of the heads of a group to (d_head, columns) of the one they become.

The columns are d_model, and one more for the bias where there is one.
"""


def mean(heads: Tensor) -> Tensor:
    """The average of the heads: what keeps most, in Ainslie et al.

    >>> mean(torch.tensor([[[1.0]], [[3.0]]]))
    tensor([[2.]])
    """
    return heads.mean(dim=0)


def first(heads: Tensor) -> Tensor:
    """The first head of the group; the others are lost.

    >>> first(torch.tensor([[[1.0]], [[3.0]]]))
    tensor([[1.]])
    """
    return heads[0]


def fresh(heads: Tensor) -> Tensor:
    """Nothing of the heads: new random numbers, drawn as ``nn.Linear`` draws its own.

    >>> fresh(torch.ones(2, 4, 100)).abs().max().item() <= 0.1
    True
    """
    bound = heads.shape[-1] ** -0.5
    return torch.empty_like(heads[0]).uniform_(-bound, bound)


def pooled(
    attention: MultiHeadAttention, n_kv_heads: int, merge: Merge = mean
) -> GroupedQueryAttention:
    """A copy of ``attention`` with ``n_kv_heads`` heads of keys and values, merged in groups.

    W_Q and W_O stay. Where the heads of every group are equal, so is the function. ``merge`` is
    ``mean``, ``first``, ``fresh`` or your own. The source may be grouped already, and may have
    rotary positions.

    What is frozen stays frozen. Raises ``ValueError`` if n_kv_heads does not divide the number
    there is, or for a stage that is neither the standard one nor one of
    ``GroupedQueryAttention``, and ``TypeError`` for another attention.

    >>> mha, x = MultiHeadAttention(12, 6), torch.randn(5, 12)
    >>> pooled(mha, 2).project.W_K.weight.shape
    torch.Size([4, 12])
    >>> torch.allclose(pooled(mha, 6)(x), mha(x), atol=1e-6)
    True
    """
    group = checks.divides(n_heads=key_heads(attention), n_kv_heads=n_kv_heads)
    project, d_head = attention.project, attention.d_head
    grouped = GroupedQueryAttention(
        attention.d_model,
        attention.n_heads,
        n_kv_heads,
        d_head=d_head,
        dropout=attention.attend.dropout.p,
        project=Project(
            attention.d_model,
            project.W_Q.out_features,
            n_kv_heads * d_head,
            d_context=attention.d_context,
        ),
        split=_fewer(attention.split, n_kv_heads),
    ).to(project.W_Q.weight)
    grouped.attend.scale = attention.attend.scale
    copying.copy_linear(grouped.project.W_Q, project.W_Q.weight, project.W_Q.bias)
    copying.copy_linear(grouped.W_O, attention.W_O.weight, attention.W_O.bias)
    for old, new in ((project.W_K, grouped.project.W_K), (project.W_V, grouped.project.W_V)):
        groups = by_head(old, d_head).unflatten(0, (n_kv_heads, group))
        rows = torch.stack([merge(heads) for heads in groups]).flatten(0, 1)
        bias = None if old.bias is None else copying.like(old.bias, rows[:, -1])
        copying.copy_linear(new, copying.like(old.weight, rows[:, : old.in_features]), bias)
    return grouped.train(attention.training)


def by_head(W: nn.Linear, d_head: int) -> Tensor:
    """Rows of W by head, the bias as a last column: (head, d_head, column).

    >>> by_head(nn.Linear(5, 6), 3).shape
    torch.Size([2, 3, 6])
    """
    rows = W.weight.data
    if W.bias is not None:
        rows = torch.cat([rows, W.bias.data[:, None]], dim=1)
    return rearrange(rows, "(head d_head) column -> head d_head column", d_head=d_head)


def write(W: nn.Linear, heads: Tensor) -> None:
    """The inverse of ``by_head``: into the weight, and the bias if there is one.

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


def key_heads(attention: MultiHeadAttention) -> int:
    """The number of heads of keys and values, if the stages are known to have such heads.

    Raises as ``copying.check_stages`` does.

    >>> key_heads(MultiHeadAttention(12, 3))
    3
    """
    action, fix = (
        "may not have heads that can be merged",
        "do this before you replace that stage",
    )
    copying.check_stages(attention, action, fix, _KNOWN)
    return attention.project.W_K.out_features // attention.d_head


# The norms of heads come along as they are, whatever they compute.
_KNOWN: copying.Classes = copying.ROTARY | {"split.q_norm": (), "split.k_norm": ()}


def _fewer(split: Split | RotarySplit, n_kv_heads: int) -> Any:
    if not isinstance(split, RotarySplit):
        return GroupedSplit(split.n_heads, n_kv_heads)
    norms = {
        "q_norm": copying.copied(split.q_norm),
        "k_norm": copying.copied(split.k_norm),
    }
    return RotarySplit(split.n_heads, copying.copied(split.rotary), n_kv_heads, **norms)
