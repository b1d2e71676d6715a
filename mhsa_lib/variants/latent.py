"""Multi-head latent attention (MLA): keys and values of all heads are made from one latent.

Changes: project maps a token to a latent of ``d_latent`` dimensions, and to one rotated key of
    ``d_rope`` dimensions, both for all heads; split makes keys and values from the latent, and
    appends the rotated key to the key of every head. Queries may have their own latent.
Saves/Costs: the cache holds d_latent + d_rope numbers per token, not 2 · n_heads · d_head. Keys
    and values, of rank d_latent, are computed again from every cached latent, unless W_UK and
    W_UV are absorbed (``AbsorbedLatentAttention`` of ``mhsa_book.conversions``).
Is MHA when: d_rope = 0, the norm is the identity, d_latent = d_model and W_DKV = I; then W_UK
    and W_UV are W_K and W_V. (A bias of V is b_V · W_V⁻¹ in W_DKV, one of K does nothing.)
Source: DeepSeek-AI, "DeepSeek-V2", section 2.1, arXiv 2405.04434, without the scale factors
    after the norms, which are not in the released code either.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import checks, functional
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.rope.rotary import Rotary, token_positions
from mhsa_lib.shapes import (
    LatentKeys,
    LatentQueries,
    LatentQueryRows,
    Latents,
    QueryLatents,
    RotaryKeys,
    Values,
)
from mhsa_lib.stages import Attend, Stage, Wire

Norm = Callable[[int], nn.Module]
RMS_NORM = partial(nn.RMSNorm, eps=1e-6)


class LatentQuery(nn.Module):
    """A W_Q of low rank: down to a latent, norm, up to the queries of all heads."""

    def __init__(
        self, d_model: int, d_q_latent: int, d_keys: int, norm: Norm, bias: bool
    ) -> None:
        super().__init__()
        checks.positive(d_model=d_model, d_q_latent=d_q_latent)
        self.in_features = d_model
        self.W_DQ = nn.Linear(d_model, d_q_latent, bias=bias)
        self.norm = norm(d_q_latent)
        self.q_latent = Wire("q_latent", QueryLatents)
        self.W_UQ = nn.Linear(d_q_latent, d_keys, bias=False)

    def forward(self, x: Tensor) -> LatentQueryRows:
        return self.W_UQ(self.q_latent(self.norm(self.W_DQ(x))))


class LatentProject(Stage):
    """Queries of all heads, and for each token of the context a latent and one rotated key."""

    wires = {"q": LatentQueryRows, "latent": Latents, "k_rope": RotaryKeys}
    # Later tokens need no more of this one than the latent after its norm and the rotated key.
    cached = ("latent", "k_rope")

    def __init__(
        self,
        W_Q: nn.Linear | LatentQuery,
        d_latent: int,
        rotary: Rotary,
        norm: Norm,
        bias: bool,
    ) -> None:
        super().__init__()
        checks.positive(d_latent=d_latent)
        self.d_model, self.W_Q, self.rotary = W_Q.in_features, W_Q, rotary
        self.widths = [d_latent, rotary.d_rotary]
        self.W_DKV = nn.Linear(W_Q.in_features, sum(self.widths), bias=bias)
        self.norm = norm(d_latent)

    # The key is rotated here and not in split: decoding then caches it as it is used.
    def forward(
        self, x: Tensor, context: Tensor, positions: Tensor | None = None
    ) -> tuple[LatentQueryRows, Latents, RotaryKeys]:
        checks.tokens("x", x, self.d_model, W=self.W_DKV)
        checks.tokens("context", context, self.d_model, W=self.W_DKV)
        checks.same_batch(x, context)
        _, key = token_positions(positions, x.shape[-2], context.shape[-2], context)
        q = self.W_Q(x)
        latent, k_rope = self.W_DKV(context).split(self.widths, dim=-1)
        return q, self.norm(latent), self.rotary(k_rope, key)


class LatentSplit(Stage):
    """Keys and values of every head from the latents; the last dimensions know the position."""

    wires = {"q_heads": LatentQueries, "k_heads": LatentKeys, "v_heads": Values}

    def __init__(
        self, n_heads: int, d_latent: int, rotary: Rotary, *, d_head: int, d_nope: int
    ) -> None:
        super().__init__()
        self.n_heads, self.rotary = n_heads, rotary
        self.widths = [d_nope, rotary.d_rotary]
        # A bias of keys adds one number to all scores of a query, which the softmax removes.
        self.W_UK = nn.Linear(d_latent, n_heads * d_nope, bias=False)
        self.W_UV = nn.Linear(d_latent, n_heads * d_head, bias=False)

    def extra_repr(self) -> str:
        return f"n_heads={self.n_heads}"

    def forward(
        self,
        q: LatentQueryRows,
        latent: Latents,
        k_rope: RotaryKeys,
        positions: Tensor | None = None,
    ) -> tuple[LatentQueries, LatentKeys, Values]:
        q = torch.cat(self.queries(q, latent, positions), dim=-1)
        k = functional.split_heads(self.W_UK(latent), self.n_heads)
        # One rotated key serves all heads: expand copies nothing, the concatenation does.
        k_rope = k_rope[..., None, :, :].expand(*k.shape[:-1], self.rotary.d_rotary)
        k = torch.cat([k, k_rope], dim=-1)
        return q, k, functional.split_heads(self.W_UV(latent), self.n_heads)

    def queries(self, q: Tensor, latent: Tensor, positions: Tensor | None) -> list[Tensor]:
        """Return the heads of q: the part without position, d_nope, and the rotated d_rope."""
        query, _ = token_positions(positions, q.shape[-2], latent.shape[-2], latent)
        nope, rope = functional.split_heads(q, self.n_heads).split(self.widths, dim=-1)
        return [nope, self.rotary(rope, query[..., None, :])]


class LatentAttention(MultiHeadAttention):
    """Multi-head attention that keeps one latent per token instead of keys and values.

    >>> mla = LatentAttention(d_model=12, n_heads=3, d_latent=4, d_rope=2)
    >>> mla(torch.randn(2, 5, 12)).shape, mla.project.W_DKV.weight.shape
    (torch.Size([2, 5, 12]), torch.Size([6, 12]))

    Parameters
    ----------
    d_model, n_heads, d_head, dropout, stages : as in ``MultiHeadAttention``; d_head is that of
        values
    d_latent : width of the latent that keys and values are made from; d_model loses nothing
    d_rope : further dimensions of queries and keys, which are rotated; even, 0 for none
    d_q_latent : width of a latent that queries are made from; without, W_Q makes them
    d_nope : dimensions of queries and keys that are not rotated; d_head when not given
    bias : whether W_Q or W_DQ, W_DKV and W_O add a bias; that of W_UV is in W_DKV
    rotary, norm : build, from a width, what rotates d_rope dimensions and the norms of latents
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_latent: int,
        d_rope: int,
        *,
        d_q_latent: int | None = None,
        d_head: int | None = None,
        d_nope: int | None = None,
        bias: bool = False,
        dropout: float = 0.0,
        rotary: Callable[[int], Rotary] = Rotary,
        norm: Norm = RMS_NORM,
        **stages: Any,
    ) -> None:
        d_head = checks.head_width(d_model, n_heads, d_head)
        d_nope = d_head if d_nope is None else d_nope
        checks.positive(d_nope=d_nope)
        checks.pairs(d_rope=d_rope)
        rotates = rotary(d_rope)
        d_key = d_nope + d_rope
        # A low rank saves nothing in the cache, but activations while training.
        W_Q = (
            nn.Linear(d_model, n_heads * d_key, bias=bias)
            if d_q_latent is None
            else LatentQuery(d_model, d_q_latent, n_heads * d_key, norm, bias)
        )
        own = {
            "project": LatentProject(W_Q, d_latent, rotates, norm, bias),
            "split": LatentSplit(n_heads, d_latent, rotates, d_head=d_head, d_nope=d_nope),
            # Keys are wider than values here, and the scale is that of the keys.
            "attend": Attend(scale=d_key**-0.5, dropout=dropout),
        }
        super().__init__(d_model, n_heads, d_head=d_head, bias=bias, **(own | stages))
