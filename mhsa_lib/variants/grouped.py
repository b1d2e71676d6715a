"""Grouped-query attention: several query heads read the same keys and values.

Changes: project makes keys and values for ``n_kv_heads`` heads only; split makes that many of
    them; attend gives each to its group of query heads, k1 k1 k2 k2.
Saves/Costs: the cache, W_K and W_V shrink by n_heads / n_kv_heads; scores and FLOPs of attend
    stay. Heads of one group can no longer attend to different things in a token.
Is MHA when: n_kv_heads = n_heads. With one it is multi-query attention.
Source: Shazeer, arXiv 1911.02150 (one head); Ainslie et al., section 2.2, arXiv 2305.13245.
"""

from typing import Any

from mhsa_lib import checks, functional
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.shapes import HeadOutputs, KeyRows, Keys, Queries, QueryRows, ValueRows, Values
from mhsa_lib.stages import Attend, Project, Split


class GroupedSplit(Split):
    """Split q into ``n_heads`` heads, k and v into ``n_kv_heads``."""

    def __init__(self, n_heads: int, n_kv_heads: int) -> None:
        super().__init__(n_heads)
        self.n_kv_heads = n_kv_heads

    def extra_repr(self) -> str:
        return f"n_heads={self.n_heads}, n_kv_heads={self.n_kv_heads}"

    def forward(self, q: QueryRows, k: KeyRows, v: ValueRows) -> tuple[Queries, Keys, Values]:
        return (
            functional.split_heads(q, self.n_heads),
            functional.split_heads(k, self.n_kv_heads),
            functional.split_heads(v, self.n_kv_heads),
        )


class GroupedAttend(Attend):
    """Give every KV head to its group of query heads, then attend as always."""

    # KV heads are repeated only here, so that what decoding caches, from split, stays small.
    def forward(self, q: Queries, k: Keys, v: Values, mask: Any = None) -> HeadOutputs:
        n_heads = q.shape[-3]
        k, v = functional.share_heads(k, n_heads), functional.share_heads(v, n_heads)
        return super().forward(q, k, v, mask)


class GroupedQueryAttention(MultiHeadAttention):
    """Multi-head attention whose heads share keys and values in groups.

    Raises ``ValueError`` if n_kv_heads does not divide n_heads.

    >>> import torch
    >>> gqa = GroupedQueryAttention(d_model=12, n_heads=6, n_kv_heads=2)
    >>> gqa(torch.randn(2, 5, 12)).shape, gqa.project.W_K.weight.shape
    (torch.Size([2, 5, 12]), torch.Size([4, 12]))

    Parameters
    ----------
    n_kv_heads : heads of keys and values, a divisor of n_heads, the number of query heads
    d_model, n_heads, d_head, d_context, bias, dropout, stages : as in ``MultiHeadAttention``
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        *,
        d_head: int | None = None,
        d_context: int | None = None,
        bias: bool = False,
        dropout: float = 0.0,
        **stages: Any,
    ) -> None:
        d_head = checks.head_width(d_model, n_heads, d_head)
        # Groups have one size, so that repeating KV heads gives one to every query head.
        checks.divides(n_heads=n_heads, n_kv_heads=n_kv_heads)
        widths = d_model, n_heads * d_head, n_kv_heads * d_head
        own = {
            "project": Project(*widths, d_context=d_context, bias=bias),
            "split": GroupedSplit(n_heads, n_kv_heads),
            "attend": GroupedAttend(scale=d_head**-0.5, dropout=dropout),
        }
        # d_context is given once more, to be checked against a project that replaces ours.
        given = {"d_head": d_head, "d_context": d_context, "bias": bias}
        super().__init__(d_model, n_heads, **(given | own | stages))
        self.n_kv_heads = n_kv_heads


def standard_attention(
    d_model: int, n_heads: int, n_kv_heads: int, **options: Any
) -> MultiHeadAttention:
    """Return plain attention if every query head has its own KV head, else the grouped one.

    >>> type(standard_attention(12, 6, 6)).__name__, type(standard_attention(12, 6, 2)).__name__
    ('MultiHeadAttention', 'GroupedQueryAttention')
    """
    if n_kv_heads == n_heads:  # sharing would only repeat every head once
        return MultiHeadAttention(d_model, n_heads, **options)
    return GroupedQueryAttention(d_model, n_heads, n_kv_heads, **options)


class MultiQueryAttention(GroupedQueryAttention):
    """Grouped-query attention with one head of keys and values.

    >>> MultiQueryAttention(d_model=12, n_heads=3).project.W_K.weight.shape
    torch.Size([4, 12])

    Parameters
    ----------
    d_model, n_heads, options : as in ``GroupedQueryAttention``
    """

    def __init__(self, d_model: int, n_heads: int, **options: Any) -> None:
        super().__init__(d_model, n_heads, 1, **options)
