"""Multi-head attention in one file: five stages, masks, shared heads and a cache.

It needs torch alone: copy it into a project and change it. In shapes ``h`` are heads, ``g``
heads of keys and values, ``i`` queries and ``j`` keys.

>>> attention = MultiHeadAttention(d_model=12, n_heads=3)
>>> attention(torch.randn(2, 5, 12), causal=True).shape
torch.Size([2, 5, 12])

Sources: Vaswani et al., "Attention Is All You Need", arXiv 1706.03762, section 3.2; shared
heads: Ainslie et al., "GQA", arXiv 2305.13245, section 2.2.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn


def causal_mask(n_query: int, n_key: int) -> Tensor:
    """True for *may look*: the queries are the last tokens, and none sees a later one.

    >>> causal_mask(2, 3).int().tolist()
    [[1, 1, 0], [1, 1, 1]]
    """
    return torch.ones(n_query, n_key, dtype=torch.bool).tril(n_key - n_query)


def padding_mask(lengths: Tensor, n_key: int) -> Tensor:
    """True for keys that are tokens, (batch, 1, 1, n_key); padding stands at the end.

    >>> padding_mask(torch.tensor([1, 3]), 3).int().tolist()
    [[[[1, 0, 0]]], [[[1, 1, 1]]]]
    """
    places = torch.arange(n_key, device=lengths.device)
    return (places < lengths[:, None])[:, None, None]


def attention_weights(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    """Share of every key for every query, (batch, h, i, j); zeros if it may see none.

    >>> attention_weights(torch.zeros(1, 1, 1, 4), torch.zeros(1, 1, 2, 4), None).tolist()
    [[[[0.5, 0.5]]]]
    """
    scores = (q / math.sqrt(q.shape[-1])) @ k.transpose(-2, -1)  # b h i j
    if mask is None:
        return scores.softmax(dim=-1)
    blind = ~mask.any(dim=-1, keepdim=True)  # no key at all: 0/0, unless it is spared here
    scores = scores.masked_fill(~mask & ~blind, -torch.inf)
    return scores.softmax(dim=-1).masked_fill(~mask, 0.0)


@dataclass
class Cache:
    """Keys and values of the tokens so far, (batch, g, token, d_head); None at first."""

    k: Tensor | None = None
    v: Tensor | None = None

    def extend(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Put new tokens behind the old ones, and return them all."""
        self.k = k if self.k is None else torch.cat([self.k, k], dim=2)
        self.v = v if self.v is None else torch.cat([self.v, v], dim=2)
        return self.k, self.v


class MultiHeadAttention(nn.Module):
    """Attention with ``n_heads`` heads, each ``d_model / n_heads`` wide.

    d_model : width of the tokens, in and out
    n_heads : heads of queries
    n_kv_heads : heads of keys and values, shared by neighbouring query heads; all, if None
    bias : whether the four maps add one
    dropout : share of the weights that is left out in training

    Raises ``ValueError`` if the heads cannot share the columns, or the key heads. Token by
    token with a cache, the numbers of one causal pass come out:

    >>> x, attention = torch.randn(1, 4, 8), MultiHeadAttention(8, n_heads=4, n_kv_heads=2)
    >>> cache = Cache()
    >>> steps = [attention(x[:, i : i + 1], cache=cache) for i in range(4)]
    >>> torch.allclose(torch.cat(steps, dim=1), attention(x, causal=True), atol=1e-6)
    True
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int | None = None,
        *,
        bias: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        for whole, name, parts in (
            (d_model, f"n_heads={n_heads}", n_heads),
            (n_heads, f"n_kv_heads={n_kv_heads}", n_kv_heads),
        ):
            if parts < 1 or whole % parts:
                raise ValueError(f"{name} does not divide {whole}; take a divisor of it.")
        self.n_heads, self.n_kv_heads, self.dropout = n_heads, n_kv_heads, dropout
        d_kv = d_model // n_heads * n_kv_heads
        self.W_Q = nn.Linear(d_model, d_model, bias=bias)
        self.W_K = nn.Linear(d_model, d_kv, bias=bias)
        self.W_V = nn.Linear(d_model, d_kv, bias=bias)
        self.W_O = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        causal: bool = False,
        cache: Cache | None = None,
    ) -> Tensor:
        """Let every token of ``x`` (batch, i, d_model) look at ``context``, or at ``x`` itself.

        ``mask`` is boolean, True for *may look*, and broadcasts to (batch, h, i, j).
        ``causal`` hides later tokens as well. With a ``cache`` the tokens of ``x`` come behind
        those it has. Raises ``ValueError`` for tokens without a batch axis, several at once
        with a cache and not ``causal``, or a cache and a context; ``TypeError`` for a mask
        that is not boolean.
        """
        q, k, v, mask = self.looked_at(x, context, mask, causal=causal, cache=cache)
        drop = self.dropout if self.training else 0.0
        z = nn.functional.scaled_dot_product_attention(q, k, v, mask, drop)  # b h i d_head
        if mask is not None:
            z = z.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
        return self.W_O(self.concat(z))

    def weights(
        self,
        x: Tensor,
        context: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        causal: bool = False,
    ) -> Tensor:
        """The weights (batch, h, i, j) of the same call; the fused kernel never writes them."""
        q, k, _, mask = self.looked_at(x, context, mask, causal=causal)
        return attention_weights(q, k, mask)

    def looked_at(
        self,
        x: Tensor,
        context: Tensor | None,
        mask: Tensor | None,
        *,
        causal: bool,
        cache: Cache | None = None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Project and split: q, k and v, each (batch, h, token, d_head), and one mask."""
        _check(x, context, mask, causal=causal, cache=cache)
        context = x if context is None else context
        q = self.split(self.W_Q(x), self.n_heads)
        k = self.split(self.W_K(context), self.n_kv_heads)
        v = self.split(self.W_V(context), self.n_kv_heads)
        if cache is not None:
            k, v = cache.extend(k, v)
        shared_by = self.n_heads // self.n_kv_heads
        k, v = (each.repeat_interleave(shared_by, dim=1) for each in (k, v))  # g to h
        if causal:
            past = causal_mask(q.shape[2], k.shape[2]).to(x.device)
            mask = past if mask is None else mask & past
        return q, k, v, mask

    @staticmethod
    def split(rows: Tensor, n_heads: int) -> Tensor:
        """Cut rows (batch, token, columns) into heads: (batch, head, token, d_head)."""
        return rows.unflatten(-1, (n_heads, -1)).transpose(1, 2)

    @staticmethod
    def concat(z: Tensor) -> Tensor:
        """Lay the heads of a token side by side again: (batch, token, columns)."""
        return z.transpose(1, 2).flatten(2)


def _check(
    x: Tensor, context: Tensor | None, mask: Tensor | None, *, causal: bool, cache: Cache | None
) -> None:
    """Refuse what would run and be wrong."""
    for name, tokens in (("x", x), ("context", context)):
        if tokens is not None and tokens.ndim != 3:
            raise ValueError(
                f"{name} has the shape {tuple(tokens.shape)}; it has to be (batch, token, "
                f"d_model): add the batch axis with {name}[None]."
            )
    if mask is not None and mask.dtype != torch.bool:
        raise TypeError(f"mask is {mask.dtype}; make it boolean, True for may look.")
    if cache is not None and context is not None:
        raise ValueError("a cache keeps tokens of x itself; leave out the cache or context.")
    if cache is not None and x.shape[1] > 1 and not causal:
        raise ValueError(
            f"{x.shape[1]} tokens at once would see each other's future; pass causal=True."
        )
