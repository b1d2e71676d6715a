"""The same function at the speed of the hardware: one QKV product, one fused kernel.

``F.scaled_dot_product_attention`` never writes the (query × key) weights to memory, so there is
nothing to trace inside it; ``to_attention`` gives the five stages with the same weights.

Source: Dao et al., "FlashAttention", arXiv 2205.14135.
"""

from copy import deepcopy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mhsa_lib import checks, masks
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.functional import concat_heads, split_heads
from mhsa_lib.preallocated import KeyValueCache
from mhsa_lib.shapes import HeadOutputs, Keys, Queries, Tokens, Values
from mhsa_lib.stages import Attend, Concat, Project, Split
from mhsa_lib.variants.grouped import GroupedAttend, GroupedQueryAttention, GroupedSplit


class FusedMultiHeadAttention(nn.Module):
    """Multi-head attention with packed projections and a fused kernel.

    Parameters
    ----------
    d_model : width of a token, in columns
    n_heads : number of query heads
    n_kv_heads : heads of keys and values, a divisor of n_heads; n_heads when not given
    d_head : width of a head; d_model / n_heads when not given
    bias : whether the projections add a bias
    dropout : probability of dropping an attention weight in training

    Examples
    --------
    >>> mha, x = MultiHeadAttention(12, 3), torch.randn(2, 6, 12)
    >>> y = FusedMultiHeadAttention.from_attention(mha)(x, mask=masks.causal)
    >>> torch.allclose(y, mha(x, mask=masks.causal), atol=1e-6)
    True
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        d_head: int | None = None,
        bias: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        checks.probability(dropout=dropout)
        d_head = checks.head_width(d_model, n_heads, d_head)
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        checks.divides(n_heads=n_heads, n_kv_heads=n_kv_heads)
        self.d_model, self.n_heads, self.d_head = d_model, n_heads, d_head
        self.n_kv_heads, self.scale, self.dropout = n_kv_heads, d_head**-0.5, dropout
        self.widths = [n_heads * d_head, n_kv_heads * d_head, n_kv_heads * d_head]
        self.W_QKV = nn.Linear(d_model, sum(self.widths), bias=bias)
        self.W_O = nn.Linear(n_heads * d_head, d_model, bias=bias)

    @classmethod
    def from_attention(cls, attention: MultiHeadAttention) -> "FusedMultiHeadAttention":
        """The same function, weights copied. The stages must be the standard ones."""
        repair = "use the five stages, or replace that stage"
        checks.stages(attention, _STANDARD, "has no fused form", repair)
        project = attention.project
        fused = cls(
            attention.d_model,
            attention.n_heads,
            n_kv_heads=project.W_K.out_features // attention.d_head,
            d_head=attention.d_head,
            bias=project.W_Q.bias is not None,
            dropout=attention.attend.dropout.p,
        ).to(project.W_Q.weight)
        parts = [W.state_dict() for W in (project.W_Q, project.W_K, project.W_V)]
        packed = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
        fused.W_QKV.load_state_dict(packed)
        fused.W_O = deepcopy(attention.W_O)
        fused.scale = attention.attend.scale
        return fused.train(attention.training)

    def to_attention(self) -> MultiHeadAttention:
        """The five stages with the same weights."""
        options: dict[str, Any] = {
            "d_head": self.d_head,
            "bias": self.W_QKV.bias is not None,
            "dropout": self.dropout,
        }
        attention = (
            MultiHeadAttention(self.d_model, self.n_heads, **options)
            if self.n_kv_heads == self.n_heads
            else GroupedQueryAttention(self.d_model, self.n_heads, self.n_kv_heads, **options)
        ).to(self.W_QKV.weight)
        project = attention.project
        for i, W in enumerate((project.W_Q, project.W_K, project.W_V)):
            packed = self.W_QKV.state_dict()
            W.load_state_dict({n: value.split(self.widths)[i] for n, value in packed.items()})
        attention.W_O = deepcopy(self.W_O)
        attention.attend.scale = self.scale
        return attention.train(self.training)

    def cache(self, batch: int, length: int) -> KeyValueCache:
        """An empty cache for ``length`` tokens of ``batch`` sequences, for ``forward``."""
        sizes = batch, self.n_kv_heads, length, self.d_head
        return KeyValueCache(*sizes, dtype=self.W_O.weight.dtype, device=self.W_O.weight.device)

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        mask: Any = None,
        cache: KeyValueCache | None = None,
    ) -> Tokens:
        """As ``MultiHeadAttention.forward``; with a ``cache``, x continues its sequences.

        ``masks.causal`` over equal lengths, or for one query, reaches the kernel without a
        (query × key) tensor. A pass with a cache has no gradients. It raises ``ValueError`` for
        a context, another batch, dtype or device, no room, or positions that do not continue.
        """
        if cache is None:
            return self._pass(x, context, mask)
        if context is not None and context is not x:
            raise ValueError(
                "a cache grows with x, but a context was given; keys of a fixed context do not "
                "change: compute them once, without a cache."
            )
        with torch.no_grad():
            return self._continued(x, mask, cache)

    def _pass(self, x: Tensor, context: Tensor | None, mask: Any) -> Tokens:
        z = self._attend(*self._heads(x, context), mask)
        return self.W_O(concat_heads(z))

    def _continued(self, x: Tensor, mask: Any, cache: KeyValueCache) -> Tokens:
        checks.tokens("x", x, self.d_model)
        cache.places.next(x.shape[:-2], x.shape[-2], x.device)
        q, k, v = self._heads(x, None)
        z = self._attend(q, *cache.write(k, v), cache.places.may_look(mask, self.n_heads))
        cache.places.take()
        return self.W_O(concat_heads(z))

    def _heads(self, x: Tensor, context: Tensor | None) -> tuple[Queries, Keys, Values]:
        q, k, v = self._project(x, context)
        q = split_heads(q, self.n_heads)
        return q, split_heads(k, self.n_kv_heads), split_heads(v, self.n_kv_heads)

    def _project(self, x: Tensor, context: Tensor | None) -> tuple[Tensor, ...]:
        checks.tokens("x", x, self.d_model)
        if context is None:
            return self.W_QKV(x).split(self.widths, dim=-1)
        checks.tokens("context", context, self.d_model)
        checks.same_batch(x, context)
        d_heads, *d_kv_heads = self.widths
        parts = [d_heads, sum(d_kv_heads)]
        W_Q, W_KV = self.W_QKV.weight.split(parts)
        bias = self.W_QKV.bias
        b_Q, b_KV = (None, None) if bias is None else bias.split(parts)
        k, v = F.linear(context, W_KV, b_KV).chunk(2, dim=-1)
        return F.linear(x, W_Q, b_Q), k, v

    def _attend(self, q: Queries, k: Keys, v: Values, mask: Any) -> HeadOutputs:
        options: dict[str, Any] = {
            "dropout_p": self.dropout if self.training else 0.0,
            "scale": self.scale,
            "enable_gqa": self.n_kv_heads != self.n_heads,
        }
        n_query, n_key = q.shape[-2], k.shape[-2]
        if mask is masks.causal and (n_query == n_key or n_query == 1):
            causal = n_query == n_key
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal, **options)
        mask = masks.resolve(mask, (*q.shape[:-1], n_key), q.device)
        if mask is None:
            return F.scaled_dot_product_attention(q, k, v, **options)
        sees_nothing = ~mask.any(dim=-1, keepdim=True)
        z = F.scaled_dot_product_attention(q, k, v, mask | sees_nothing, **options)
        return z.masked_fill(sees_nothing, 0.0)


_STANDARD: dict[str, tuple[type[nn.Module], ...]] = {
    "project": (Project,),
    "split": (Split, GroupedSplit),
    "attend": (Attend, GroupedAttend),
    "concat": (Concat,),
    "W_O": (nn.Linear,),
}
