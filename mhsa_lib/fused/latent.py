"""Latent attention with fused kernels, and a cache of nothing but latents.

Many queries, as in a prompt, attend to keys and values made once from the latents. A single
query is moved into the space of the latents instead, where all heads share one key and one
value, the latent itself: each latent is read once for all heads, and no key is made again.

Source: DeepSeek-AI, "DeepSeek-V2", section 2.1.2, arXiv 2405.04434.
"""

from copy import deepcopy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mhsa_lib import checks, copying, masks
from mhsa_lib.cache.memory import KVCache
from mhsa_lib.execution_mode import is_unmodified, refuse_unheard_hooks
from mhsa_lib.functional import concat_heads
from mhsa_lib.fused import kernels
from mhsa_lib.shapes import HeadOutputs, Tokens
from mhsa_lib.stages import Wire
from mhsa_lib.variants.latent import LatentAttention, LatentSplit

_NEVER_CALLED: dict[str, Any] = {
    path: kinds[0]
    for path, kinds in copying.LATENT.items()
    if path in ("", "concat") or path.startswith("attend")
} | {"attend.scores": Wire, "attend.weights": Wire}
"""Parts of the five stages whose work a kernel does, and the class each must have."""


class FusedLatentAttention(nn.Module):
    """A ``LatentAttention`` that writes no weights and decodes from its latents.

    ``attention`` is copied; its stages must be the standard ones.

    >>> mla, x = LatentAttention(12, 3, d_latent=4, d_rope=2), torch.randn(2, 5, 12)
    >>> fused = FusedLatentAttention.from_attention(mla)
    >>> cache = KVCache(max_length=8)
    >>> y = [fused(part, mask=masks.causal, cache=cache) for part in x.split([4, 1], dim=1)]
    >>> torch.allclose(torch.cat(y, dim=1), mla(x, mask=masks.causal), atol=1e-6)
    True
    >>> cache
    KVCache(5 tokens, 384 bytes: latent (2, 8, 6))
    """

    def __init__(self, attention: Any) -> None:
        super().__init__()
        repair = "use the five stages, or replace that stage"
        copying.check_modules(attention, copying.LATENT, "has no fused form of latents", repair)
        self.attention = copying.copied(attention)
        self.d_model, self.n_heads = attention.d_model, attention.n_heads
        self.widths = attention.project.widths
        self.train(attention.training)

    @classmethod
    def from_attention(cls, attention: Any) -> "FusedLatentAttention":
        """The same function, weights copied."""
        return cls(attention)

    def to_attention(self) -> LatentAttention:
        """The five stages with the same weights; ``ValueError`` if something was added here."""
        parts = {f"attention.{path}".rstrip("."): each for path, each in copying.LATENT.items()}
        parts[""] = (FusedLatentAttention,)
        fix = "use it as it is, fused"
        copying.check_modules(self, parts, "has no form in five stages", fix)
        return deepcopy(self.attention)

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        mask: Any = None,
        cache: KVCache | None = None,
    ) -> Tokens:
        """As ``LatentAttention.forward``; with a ``cache``, x continues its sequences.

        Errors and gradients are those of ``FusedMultiHeadAttention.forward``.
        """
        refuse_unheard_hooks(self.attention, _NEVER_CALLED)
        if cache is None:
            q, *latents = self.attention.project(x, x if context is None else context)
            return self._made(q, latents, mask)
        checks.tokens("x", x, self.d_model)
        checks.a_cache(cache)
        checks.no_context(x, context)
        with torch.no_grad():
            return self._continued(x, mask, cache)

    def _continued(self, x: Tensor, mask: Any, cache: KVCache) -> Tensor:
        call = cache.begin(x.shape[:-2], x.shape[-2], x.device)
        mask, positions = call.attention_mask(mask, self.n_heads), call.positions
        q, latent, k_rope = self.attention.project(x, x, positions)
        rows = call.append("latent", torch.cat([latent, k_rope], dim=-1).to(q.dtype))
        if x.shape[-2] == 1 and x.ndim == 3 and self._is_bare():
            y = self._absorbed(q, rows[:, None], mask, positions)
        else:
            y = self._made(q, rows.split(self.widths, dim=-1), mask, positions)
        call.commit()
        return y

    def _made(self, q: Tensor, latents: Any, mask: Any, positions: Any = None) -> Tensor:
        q, k, v = self.attention.split(q, *latents, positions)
        return self.attention.W_O(concat_heads(self._attend(q, k, v, mask)))

    def _is_bare(self) -> bool:
        """Whether split may be read past: what is added to it acts only where it runs."""
        split = self.attention.split
        maps = split.W_UK, split.W_UV
        read = all(is_unmodified(W, nn.Linear) and W.bias is None for W in maps)
        return read and is_unmodified(split, LatentSplit)

    def _absorbed(self, q: Tensor, rows: Tensor, mask: Any, positions: Tensor) -> Tensor:
        """Attend with one query per sequence; its heads take the place of the queries."""
        split, (d_latent, _) = self.attention.split, self.widths
        nope, rope = split.queries(q, rows, positions)
        W_UK, W_UV = split.W_UK.weight, split.W_UV.weight
        W_UK, W_UV = (W.unflatten(0, (self.n_heads, -1)) for W in (W_UK, W_UV))
        absorbed = torch.einsum("bhqd,hdl->bhql", nope, W_UK)  # no copy of W_UK per sequence
        q = torch.cat([absorbed, rope], dim=-1)
        mask = masks.resolve(mask, (*q.shape[:-1], rows.shape[-2]), q.device)
        mask = None if mask is None else mask.transpose(-3, -2)
        z = self._attend(q.transpose(-3, -2), rows, rows, mask)
        z = torch.einsum("bqhl,hdl->bhqd", z[..., :d_latent], W_UV)
        return self.attention.W_O(concat_heads(z))

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Any) -> HeadOutputs:
        """Run a kernel, with keys and values padded to one width, as kernels need them."""
        attend, d_value = self.attention.attend, v.shape[-1]
        if k.shape[-1] != d_value:  # padding by nothing would copy
            width = max(k.shape[-1], d_value)
            q, k, v = (F.pad(t, (0, width - t.shape[-1])) for t in (q, k, v))
        dropout = attend.dropout.p if attend.dropout.training else 0.0
        z = kernels.attend(q, k, v, mask, scale=attend.scale, dropout=dropout)
        return z[..., :d_value]
