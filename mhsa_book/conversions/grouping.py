"""Trained heads of keys and values merged into fewer: plain attention becomes grouped.

A mean of numbers is not a mean of heads: the same head may be written in other coordinates.
``align`` brings heads into common coordinates first.

Source: Ainslie et al., "GQA", section 2.1, arXiv 2305.13245.
"""

from collections.abc import Callable

import torch
from einops import rearrange
from torch import Tensor, nn

from mhsa_lib import checks, copying
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.rope.rotary import RotarySplit
from mhsa_lib.variants.grouped import GroupedAttend, GroupedQueryAttention, GroupedSplit

Merge = Callable[[Tensor], Tensor]
"""(group, d_head, columns) of the heads of a group to (d_head, columns) of the one they become.

The columns are d_model, and one more for the bias where there is one.
"""
# The norms of heads come along as they are, whatever they compute.
_KNOWN: copying.Classes = copying.ROTARY | {"split.q_norm": (), "split.k_norm": ()}


def mean(heads: Tensor) -> Tensor:
    """Return the average of the heads: what keeps most, in Ainslie et al.

    >>> mean(torch.tensor([[[1.0]], [[3.0]]]))
    tensor([[2.]])
    """
    return heads.mean(dim=0)


def pooled(
    attention: MultiHeadAttention, n_kv_heads: int, merge: Merge = mean
) -> GroupedQueryAttention:
    """Return a copy of ``attention`` with ``n_kv_heads`` KV heads, merged in groups.

    W_Q and W_O stay. Where the heads of every group are equal, so is the function. ``merge`` is
    ``mean`` or your own. The source may be grouped already, and may have rotary positions.

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
    old, d_head = attention.attend, attention.d_head
    names = "project", "split", "concat", "W_O"
    stages = {name: copying.copied(getattr(attention, name)) for name in names}
    for W in (stages["project"].W_K, stages["project"].W_V):
        heads = by_head(W, d_head).unflatten(0, (n_kv_heads, group))
        rows = torch.stack([merge(each) for each in heads]).flatten(0, 1)
        weight, bias = rows.tensor_split([W.in_features], dim=1)
        W.out_features = len(rows)
        copying.copy_parameter(W, "weight", copying.like(W.weight, weight))
        if W.bias is not None:
            copying.copy_parameter(W, "bias", copying.like(W.bias, bias.flatten()))
    if isinstance(attention.split, RotarySplit):
        stages["split"].n_kv_heads = n_kv_heads
    else:
        stages["split"] = GroupedSplit(attention.n_heads, n_kv_heads)
    sizes = attention.d_model, attention.n_heads, n_kv_heads
    options = {"d_head": d_head, "d_context": attention.d_context, **stages}
    attend = GroupedAttend(old.scale, old.dropout.p)
    with torch.device("meta"):  # it draws a project, which ours replaces
        grouped = GroupedQueryAttention(*sizes, attend=attend, **options)
    return grouped.train(attention.training)


def by_head(W: nn.Linear, d_head: int) -> Tensor:
    """Return the rows of W by head, the bias as a last column: (head, d_head, column).

    >>> by_head(nn.Linear(5, 6), 3).shape
    torch.Size([2, 3, 6])
    """
    rows = W.weight.data
    if W.bias is not None:
        rows = torch.cat([rows, W.bias.data[:, None]], dim=1)
    return rearrange(rows, "(head d_head) column -> head d_head column", d_head=d_head)


def key_heads(attention: MultiHeadAttention) -> int:
    """Return the number of KV heads, if the stages are known to have such heads.

    Raises as ``copying.check_stages`` does.

    >>> key_heads(MultiHeadAttention(12, 3))
    3
    """
    action = "may not have heads that can be merged"
    copying.check_stages(attention, action, "do this before you replace that stage", _KNOWN)
    return attention.project.W_K.out_features // attention.d_head
