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
from mhsa_lib.shapes import HeadOutputs, Queries, Tokens
from mhsa_lib.stages import Attend, Concat, Project, Split


class FusedMultiHeadAttention(nn.Module):
    """Multi-head attention with packed projections and a fused kernel.

    Parameters
    ----------
    d_model : width of a token, in columns
    n_heads : number of heads
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
        d_head: int | None = None,
        bias: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        checks.probability(dropout=dropout)
        d_head = checks.head_width(d_model, n_heads, d_head)
        self.d_model, self.n_heads, self.d_head = d_model, n_heads, d_head
        self.scale, self.dropout = d_head**-0.5, dropout
        self.W_QKV = nn.Linear(d_model, 3 * n_heads * d_head, bias=bias)
        self.W_O = nn.Linear(n_heads * d_head, d_model, bias=bias)

    @classmethod
    def from_attention(cls, attention: MultiHeadAttention) -> "FusedMultiHeadAttention":
        """The same function, weights copied. The stages must be the standard ones."""
        for name, kind in _STANDARD.items():
            stage = getattr(attention, name)
            if type(stage) is not kind:
                raise ValueError(
                    f"{name}={type(stage).__name__} has no fused form; only "
                    f"{kind.__name__} has: use the five stages, or replace that stage."
                )
        project = attention.project
        fused = cls(
            attention.d_model,
            attention.n_heads,
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
        attention = MultiHeadAttention(
            self.d_model,
            self.n_heads,
            d_head=self.d_head,
            bias=self.W_QKV.bias is not None,
            dropout=self.dropout,
        ).to(self.W_QKV.weight)
        project = attention.project
        for i, W in enumerate((project.W_Q, project.W_K, project.W_V)):
            packed = self.W_QKV.state_dict()
            W.load_state_dict({name: value.chunk(3)[i] for name, value in packed.items()})
        attention.W_O = deepcopy(self.W_O)
        attention.attend.scale = self.scale
        return attention.train(self.training)

    def forward(self, x: Tensor, context: Tensor | None = None, mask: Any = None) -> Tokens:
        """As ``MultiHeadAttention.forward``.

        ``masks.causal`` over equal lengths reaches the kernel without a (query × key) tensor.
        """
        q, k, v = (split_heads(rows, self.n_heads) for rows in self._project(x, context))
        return self.W_O(concat_heads(self._attend(q, k, v, mask)))

    def _project(self, x: Tensor, context: Tensor | None) -> tuple[Tensor, ...]:
        checks.tokens("x", x, self.d_model)
        if context is None:
            return self.W_QKV(x).chunk(3, dim=-1)
        checks.tokens("context", context, self.d_model)
        checks.same_batch(x, context)
        d_heads = self.n_heads * self.d_head
        W_Q, W_KV = self.W_QKV.weight.split([d_heads, 2 * d_heads])
        bias = self.W_QKV.bias
        b_Q, b_KV = (None, None) if bias is None else bias.split([d_heads, 2 * d_heads])
        k, v = F.linear(context, W_KV, b_KV).chunk(2, dim=-1)
        return F.linear(x, W_Q, b_Q), k, v

    def _attend(self, q: Queries, k: Tensor, v: Tensor, mask: Any) -> HeadOutputs:
        dropout = self.dropout if self.training else 0.0
        n_query, n_key = q.shape[-2], k.shape[-2]
        if mask is masks.causal and (n_query == n_key or n_query == 1):
            return F.scaled_dot_product_attention(
                q, k, v, dropout_p=dropout, is_causal=n_query == n_key, scale=self.scale
            )
        mask = masks.resolve(mask, (*q.shape[:-1], n_key), q.device)
        if mask is None:
            return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, scale=self.scale)
        sees_nothing = ~mask.any(dim=-1, keepdim=True)
        z = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask | sees_nothing, dropout_p=dropout, scale=self.scale
        )
        return z.masked_fill(sees_nothing, 0.0)


_STANDARD: dict[str, type[nn.Module]] = {
    "project": Project,
    "split": Split,
    "attend": Attend,
    "concat": Concat,
    "W_O": nn.Linear,
}
