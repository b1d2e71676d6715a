"""Collaborative attention: all heads compare in one shared space, each with its weighting.

Changes: project makes queries and keys once, ``d_shared`` wide; split gives every head all of
    them, weighted by its row of a mixing matrix; a content score, what a key offers to any
    query, is added to the scores (the changed line of forward). Values and W_O stay.
Saves/Costs: W_Q, W_K and mixing have (2 d_model + n_heads) · d_shared numbers, the cache has
    d_shared + n_heads per token in place of the keys. But every head compares over the whole
    shared width: scores cost d_shared / d_head times as much.
Is MHA when: d_shared = n_heads · d_head, each row of mixing is 1 in the head's own block of
    dimensions and 0 elsewhere, and the content scores are those of W_Q's bias, zero without.
Source: Cordonnier, Loukas and Jaggi, sections 3 and 4, arXiv 2006.16362, and its released code.
"""

from typing import Any

import torch
from einops import rearrange
from torch import Tensor, nn

from mhsa_lib import checks, functional, masks
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.shapes import (
    ContentScores,
    HeadOutputs,
    MixedQueries,
    SharedKeys,
    SharedQueries,
    Tokens,
    ValueRows,
    Values,
)
from mhsa_lib.stages import Attend, Stage


class SharedProject(Stage):
    """Queries and keys once for all heads, values for each; only W_V may have a bias."""

    wires = {"q": SharedQueries, "k": SharedKeys, "v": ValueRows}

    def __init__(self, d_model: int, d_shared: int, d_values: int, bias: bool) -> None:
        super().__init__()
        self.d_model = d_model
        # Only values have a bias: ``ContentBias`` does what one of queries would do, and one of
        # keys would add the same number to all scores of a query, which the softmax removes.
        self.W_Q = nn.Linear(d_model, d_shared, bias=False)
        self.W_K = nn.Linear(d_model, d_shared, bias=False)
        self.W_V = nn.Linear(d_model, d_values, bias=bias)

    def forward(
        self, x: Tensor, context: Tensor
    ) -> tuple[SharedQueries, SharedKeys, ValueRows]:
        checks.tokens("x", x, self.d_model, W=self.W_Q)
        checks.tokens("context", context, self.d_model, W=self.W_K)
        checks.same_batch(x, context)
        return self.W_Q(x), self.W_K(context), self.W_V(context)


class MixingSplit(Stage):
    """Give every head all shared dimensions of q, weighted by its row of ``mixing``."""

    wires = {"q_mixed": MixedQueries, "k_shared": SharedKeys, "v_heads": Values}
    cached = ("k_shared", "v_heads")

    def __init__(self, mixing: Tensor) -> None:
        super().__init__()
        self.mixing = nn.Parameter(mixing.detach().clone())

    def extra_repr(self) -> str:
        return "n_heads={}, d_shared={}".format(*self.mixing.shape)

    def forward(
        self, q: SharedQueries, k: SharedKeys, v: ValueRows
    ) -> tuple[MixedQueries, SharedKeys, Values]:
        q_mixed = q[..., None, :, :] * self.mixing[:, None]
        return q_mixed, k, functional.split_heads(v, len(self.mixing))


class ContentBias(Stage):
    """What each key offers to every head and any query: one number per head and key."""

    wires = {"content": ContentScores}
    cached = ("content",)

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        # What a bias of queries contributes: for each head its product with W_K.
        self.W_C = nn.Linear(d_model, n_heads, bias=False)

    def forward(self, context: Tensor) -> ContentScores:
        return rearrange(self.W_C(context), "... key head -> ... head key")


class CollaborativeAttend(Attend):
    """Score the mixed queries against the shared keys and add the content; then as always."""

    def forward(  # type: ignore[override]
        self, q: MixedQueries, k: SharedKeys, v: Values, mask: Any, content: ContentScores
    ) -> HeadOutputs:
        k_heads = functional.share_heads(k[..., None, :, :], n_heads=q.shape[-3])
        # The content is scaled as the scores are, and is the same for every query.
        content = self.scale * content[..., None, :]
        scores = self.scores(self.score(q, k_heads) + content)
        mask = masks.resolve(mask, scores.shape, scores.device)
        weights = self.weights(self.normalise(scores, mask))
        return functional.mix(self.dropout(weights), v)


class CollaborativeAttention(MultiHeadAttention):
    """Multi-head attention whose heads compare in one shared space, each with its weighting.

    Raises ``ValueError`` for a mixing of another shape, or a scale that is not positive.

    >>> shared = CollaborativeAttention(d_model=12, n_heads=3, d_shared=6)
    >>> shared(torch.randn(2, 5, 12)).shape, shared.project.W_K.weight.shape
    (torch.Size([2, 5, 12]), torch.Size([6, 12]))

    Parameters
    ----------
    d_model, n_heads, d_head, bias, dropout, stages : as in ``MultiHeadAttention``; d_head is
        that of values, and W_Q and W_K have no bias
    d_shared : width of the shared queries and keys; n_heads · d_head when not given
    mixing : the matrix (n_heads, d_shared) to begin with; normal, with σ = 0.2, when not given
    scale : factor on the scores; √(n_heads / d_shared) when not given
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_shared: int | None = None,
        *,
        d_head: int | None = None,
        mixing: Tensor | None = None,
        scale: float | None = None,
        bias: bool = False,
        dropout: float = 0.0,
        **stages: Any,
    ) -> None:
        d_head = checks.head_width(d_model, n_heads, d_head)
        d_shared = n_heads * d_head if d_shared is None else d_shared
        checks.positive(d_shared=d_shared)
        mixing = 0.2 * torch.randn(n_heads, d_shared) if mixing is None else mixing
        checks.shaped("mixing", mixing, n_heads=n_heads, d_shared=d_shared)
        # With a mixing of blocks a head compares over d_shared / n_heads dimensions.
        scale = (n_heads / d_shared) ** 0.5 if scale is None else scale
        if not scale > 0:
            raise ValueError(f"scale={scale} turns the scores around; it must be above 0.")
        own = {
            "project": SharedProject(d_model, d_shared, n_heads * d_head, bias),
            "split": MixingSplit(mixing),
            "attend": CollaborativeAttend(scale, dropout),
        }
        super().__init__(d_model, n_heads, d_head=d_head, bias=bias, **(own | stages))
        self.d_shared = d_shared
        self.content = ContentBias(d_model, n_heads)

    def forward(self, x: Tensor, context: Tensor | None = None, mask: Any = None) -> Tokens:
        context = x if context is None else context
        q, k, v = self.project(x, context)
        q, k, v = self.split(q, k, v)
        z = self.attend(q, k, v, mask, self.content(context))  # <- the idea
        z = self.concat(z)
        return self.W_O(z)
