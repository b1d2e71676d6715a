"""Stages that some of Llama's relatives have: a cap on scores, sinks, and other norms.

Each is the plain stage with one difference, and the plain one at a stated setting. The stages
of ``convert.from_llama``; they can be given to any ``GroupedQueryAttention``.

Sources: Gemma Team, "Gemma 2", section 2, arXiv 2408.00118 (cap); OpenAI, "gpt-oss model card",
section 2, arXiv 2508.10925, after Xiao et al., arXiv 2309.17453 (sinks); OLMo Team, "2 OLMo 2
Furious", section 3.3, arXiv 2501.00656 (norms of queries and keys).
"""

from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import checks, masks
from mhsa_lib import functional as F
from mhsa_lib.shapes import Heads, KeyRows, Queries, QueryRows, ValueRows, Weights
from mhsa_lib.stages import Project
from mhsa_lib.variants.grouped import GroupedAttend


class CappedAttend(GroupedAttend):
    """Scores go through cap · tanh(score / cap), so none is larger than ``cap`` (Gemma 2).

    The wire ``scores`` holds them capped. With a cap of infinity it is ``GroupedAttend``.

    Parameters
    ----------
    scale : factor on the dot products
    cap : the largest score, above 0
    dropout : as of ``Attend``

    Examples
    --------
    >>> q, k = torch.full((1, 1, 1), 10.0), torch.tensor([[[10.0], [20.0]]])
    >>> attend = CappedAttend(scale=1.0, cap=1.0)
    >>> attend.look(q, k)
    tensor([[[0.5000, 0.5000]]])
    """

    def __init__(self, scale: float, cap: float, dropout: float = 0.0) -> None:
        super().__init__(scale, dropout)
        if not cap > 0:
            raise ValueError(f"cap={cap} leaves no score; give a number above 0, inf for none.")
        self.cap = cap

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, cap={self.cap:g}"

    def look(self, q: Queries, k: Heads, mask: Any = None) -> Weights:
        """As of ``Attend``, the scores capped."""
        scores = self.scores(F.cap(F.score(q, k, self.scale), self.cap))
        mask = masks.resolve(mask, scores.shape, scores.device)
        return self.weights(F.softmax(scores, mask))


class SinkAttend(GroupedAttend):
    """Every head has a score of its own for looking at nothing: its sink (gpt-oss).

    The sink joins the softmax and is dropped. So a row of ``weights`` is **no distribution**:
    its sum is less than 1 by the share of the sink. With sinks of minus infinity it is
    ``GroupedAttend``.

    Parameters
    ----------
    scale : factor on the dot products
    n_heads : query heads, each with a parameter in ``sinks``
    dropout : as of ``Attend``

    Examples
    --------
    >>> attend, k = SinkAttend(scale=1.0, n_heads=1), torch.zeros(1, 3, 2)
    >>> attend.look(torch.zeros(1, 1, 2), k).tolist()
    [[[0.25, 0.25, 0.25]]]
    """

    def __init__(self, scale: float, n_heads: int, dropout: float = 0.0) -> None:
        super().__init__(scale, dropout)
        checks.positive(n_heads=n_heads)
        self.sinks = nn.Parameter(torch.zeros(n_heads))

    def look(self, q: Queries, k: Heads, mask: Any = None) -> Weights:
        """As of ``Attend``, but what goes to the sink is missing in every row."""
        scores = self.scores(F.score(q, k, self.scale))
        mask = masks.resolve(mask, scores.shape, scores.device)
        return self.weights(F.softmax_with_sinks(scores, self.sinks, mask))


class NormedProject(Project):
    """Queries and keys of all heads are normed together, before they are split (OLMo 2).

    Parameters
    ----------
    d_model, d_heads, d_kv_heads, d_context, bias : as of ``Project``
    q_norm, k_norm : what is done to all columns of q and of k

    Examples
    --------
    >>> project = NormedProject(8, 4, 2, q_norm=nn.RMSNorm(4), k_norm=nn.RMSNorm(2))
    >>> q, k, v = project(*[torch.randn(5, 8)] * 2)
    >>> q.square().mean(dim=-1).round(decimals=2).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """

    def __init__(
        self,
        d_model: int,
        d_heads: int,
        d_kv_heads: int,
        *,
        q_norm: nn.Module,
        k_norm: nn.Module,
        d_context: int | None = None,
        bias: bool = False,
    ) -> None:
        super().__init__(d_model, d_heads, d_kv_heads, d_context=d_context, bias=bias)
        self.q_norm, self.k_norm = q_norm, k_norm

    def forward(self, x: Tensor, context: Tensor) -> tuple[QueryRows, KeyRows, ValueRows]:
        q, k, v = super().forward(x, context)
        return self.q_norm(q), self.k_norm(k), v


class GemmaNorm(nn.Module):
    """An RMSNorm with the gain 1 + weight, in float32 at least (Gemma).

    The weight stays small, so half precision does not lose it behind the 1.

    >>> GemmaNorm(2)(torch.tensor([3.0, 3.0])).round(decimals=3).tolist()
    [1.0, 1.0]
    """

    def __init__(self, width: int, eps: float = 1e-6) -> None:
        super().__init__()
        checks.positive(width=width)
        self.width, self.eps = width, eps
        self.weight = nn.Parameter(torch.zeros(width))

    def extra_repr(self) -> str:
        return f"{self.width}, eps={self.eps:g}"

    def forward(self, rows: Tensor) -> Tensor:
        dtype = torch.promote_types(rows.dtype, torch.float32)
        gain = 1 + self.weight.to(dtype)
        return nn.functional.rms_norm(rows.to(dtype), gain.shape, gain, self.eps).to(rows.dtype)
