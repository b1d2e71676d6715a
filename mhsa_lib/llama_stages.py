"""Stages of some of Llama's relatives: soft-capped scores, sinks, and other norms.

Sources: Gemma Team, "Gemma 2", section 2, arXiv 2408.00118 (cap); OpenAI, "gpt-oss model card",
section 2, arXiv 2508.10925, after Xiao et al., arXiv 2309.17453 (sinks); OLMo Team, "2 OLMo 2
Furious", section 3.3, arXiv 2501.00656 (norms of queries and keys).
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import checks, functional
from mhsa_lib.shapes import Heads, KeyRows, Mask, Queries, QueryRows, Scores, ValueRows, Weights
from mhsa_lib.stages import Project
from mhsa_lib.variants.grouped import GroupedAttend


class CappedAttend(GroupedAttend):
    """Scores are soft-capped, cap · tanh(score / cap), to stay below ``cap`` (Gemma 2).

    The wire ``scores`` holds them capped. ``scale`` and ``dropout`` are as in ``Attend``. If
    ``cap`` is None it is ``GroupedAttend``. Raises ``ValueError`` for a cap not above 0.

    >>> q, k = torch.full((1, 1, 1), 10.0), torch.tensor([[[10.0], [20.0]]])
    >>> attend = CappedAttend(scale=1.0, cap=1.0)
    >>> attend.attention_weights(q, k)
    tensor([[[0.5000, 0.5000]]])
    """

    def __init__(self, scale: float, cap: float | None, dropout: float = 0.0) -> None:
        super().__init__(scale, dropout)
        if cap is not None and not cap > 0:  # NaN too: it is not above 0
            raise ValueError(
                f"cap={cap} caps no score; give a number above 0, None for no cap."
            )
        self.cap = cap

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, cap={self.cap}"

    def score(self, q: Queries, k: Heads) -> Scores:
        """Return the scaled dot products, soft-capped."""
        return self.capped(super().score(q, k))

    def capped(self, scores: Tensor, *_: Any) -> Tensor:
        """Return scores below the cap; FlexAttention gives positions too."""
        cap = math.inf if self.cap is None else self.cap
        # Infinity times zero is no number.
        return scores if math.isinf(cap) else cap * torch.tanh(scores / cap)


class SinkAttend(GroupedAttend):
    """Every head has a score of its own for attending to nothing: its sink (gpt-oss).

    The sink joins the softmax and is then dropped, so a row of ``weights`` is **not a
    distribution**: its sum is less than 1 by the share of the sink. Each of ``n_heads`` query
    heads has a parameter in ``sinks``; ``scale`` and ``dropout`` are as in ``Attend``. With
    sinks of minus infinity it is ``GroupedAttend``.

    >>> attend, k = SinkAttend(scale=1.0, n_heads=1), torch.zeros(1, 3, 2)
    >>> attend.attention_weights(torch.zeros(1, 1, 2), k).tolist()
    [[[0.25, 0.25, 0.25]]]
    """

    def __init__(self, scale: float, n_heads: int, dropout: float = 0.0) -> None:
        super().__init__(scale, dropout)
        checks.positive(n_heads=n_heads)
        # A sink of 0 is a key whose product with every query is 0.
        self.sinks = nn.Parameter(torch.zeros(n_heads))

    def normalise(self, scores: Scores, mask: Mask | None) -> Weights:
        """Return a softmax over keys and sink, without the share of the sink."""
        return functional.softmax_with_sinks(scores, self.sinks, mask)


class NormedProject(Project):
    """Queries and keys of all heads are normed together, before they are split (OLMo 2).

    ``q_norm`` and ``k_norm`` see all dimensions of q and of k; the rest is as in ``Project``.
    With identities it is ``Project``.

    >>> project = NormedProject(8, 4, 2, q_norm=nn.RMSNorm(4), k_norm=nn.RMSNorm(2))
    >>> q, k, v = project(*[torch.randn(5, 8)] * 2)
    >>> q.square().mean(dim=-1).round(decimals=2).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """

    def __init__(
        self, *sizes: int, q_norm: nn.Module, k_norm: nn.Module, **options: Any
    ) -> None:
        super().__init__(*sizes, **options)
        self.q_norm, self.k_norm = q_norm, k_norm

    def forward(self, x: Tensor, context: Tensor) -> tuple[QueryRows, KeyRows, ValueRows]:
        q, k, v = super().forward(x, context)
        return self.q_norm(q), self.k_norm(k), v


class GemmaNorm(nn.RMSNorm):
    """An RMSNorm with the gain 1 + weight, in float32 at least (Gemma).

    >>> GemmaNorm(2, eps=1e-6)(torch.tensor([3.0, 3.0])).round(decimals=3).tolist()
    [1.0, 1.0]
    """

    def reset_parameters(self) -> None:
        """Begin with a gain of 1, stored as 0: half precision keeps what is small."""
        nn.init.zeros_(self.weight)

    def forward(self, rows: Tensor) -> Tensor:
        dtype = torch.promote_types(rows.dtype, torch.float32)
        # Gemma multiplies before it rounds to the dtype of the rows; Llama rounds first.
        gain = 1 + self.weight.to(dtype)
        return nn.functional.rms_norm(rows.to(dtype), gain.shape, gain, self.eps).to(rows.dtype)
