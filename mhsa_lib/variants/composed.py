"""Dynamically composed heads: for every pair of tokens, the heads exchange what they found.

Changes: attend mixes the heads' scores before the softmax, and their weights after it, with
    small maps that the two tokens of the pair make; forward hands it the tokens.
Saves/Costs: 20·d_model·n_heads + 64·n_heads² parameters at rank 2 (and 2·n_heads² static),
    32·n_heads FLOPs per pair; the scores of all heads must exist at once, which plain fused
    kernels avoid; decoding also keeps the maps of the key side, 10·n_heads numbers per token.
Is MHA when: W_2 and W_g of the branches, and W_b, are zero; or there are no branches.
Source: Xiao et al., section 2, arXiv 2405.08553. With the static branches alone it is
    talking-heads attention: Shazeer et al., arXiv 2003.02436.
"""

from typing import Any

from torch import Tensor, nn

from mhsa_lib import checks, functional, masks
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.shapes import (
    HeadOutputs,
    Keys,
    Queries,
    Scores,
    Tokens,
    Values,
    Weights,
)
from mhsa_lib.stages import Attend, Wire
from mhsa_lib.variants.parts.composition import Compose, five_branches


class ComposedAttend(Attend):
    """Score, compose, softmax, compose, mix.

    Parameters
    ----------
    scale : factor on the dot products, 1/√d_head
    pre, post : what happens to the scores before the softmax, to the weights after it
    dropout : probability with which a composed weight is dropped in training

    ``weights`` are the softmax's, so their rows sum to 1. ``composed_weights`` need not, and
    may be negative. A pair that the mask forbids has the composed weight zero in that head,
    also where the mask of another head allows it.
    """

    def __init__(
        self, scale: float, pre: nn.Module, post: nn.Module, dropout: float = 0.0
    ) -> None:
        super().__init__(scale, dropout)
        self.pre, self.post = pre, post
        self.composed_scores = Wire("composed_scores", Scores)
        self.composed_weights = Wire("composed_weights", Weights)

    def forward(  # type: ignore[override]
        self,
        q: Queries,
        k: Keys,
        v: Values,
        mask: Any,
        x: Tensor,
        context: Tensor,
    ) -> HeadOutputs:
        scores = self.scores(self.score(q, k))
        mask = masks.resolve(mask, scores.shape, scores.device)
        scores = self.composed_scores(self.pre(scores, x, context))
        weights = self.weights(self.normalise(scores, mask))
        weights = self.composed_weights(_allowed(self.post(weights, x, context), mask))
        return functional.mix(self.dropout(weights), v)


class ComposedAttention(MultiHeadAttention):
    """Multi-head attention whose heads are mixed anew for every pair of tokens.

    Parameters
    ----------
    d_model : width of a token, in columns
    n_heads : number of heads
    rank : rank of the map that a token makes, at most n_heads
    d_head : width of a head; d_model / n_heads when not given, free otherwise
    bias : whether the four linear maps add a bias
    dropout : probability of dropping a composed weight in training
    pre, post : a ``Compose`` of other branches than the five, for the scores, for the weights
    stages : ``project``, ``split``, ``attend``, ``concat`` or ``W_O`` in place of the own ones

    Raises
    ------
    ValueError : for a rank above n_heads, or branches that were made for other sizes

    Examples
    --------
    >>> import torch
    >>> from mhsa_lib import masks
    >>> dcmha = ComposedAttention(d_model=12, n_heads=3)
    >>> dcmha(torch.randn(2, 5, 12), mask=masks.causal).shape
    torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        rank: int = 2,
        d_head: int | None = None,
        bias: bool = False,
        dropout: float = 0.0,
        pre: Compose | None = None,
        post: Compose | None = None,
        **stages: Any,
    ) -> None:
        d_head = checks.head_width(d_model, n_heads, d_head)
        pre = five_branches(d_model, n_heads, rank, "pre") if pre is None else pre
        post = five_branches(d_model, n_heads, rank, "post") if post is None else post
        if stages.get("d_context") not in (None, d_model):
            raise ValueError(
                f"d_context={stages['d_context']}, but both tokens of a pair compose its "
                f"heads, so they are alike; leave it out, it is d_model={d_model}."
            )
        for compose in (pre, post):
            compose.check(d_model=d_model, n_heads=n_heads)
        own = {"attend": ComposedAttend(d_head**-0.5, pre, post, dropout)}
        super().__init__(d_model, n_heads, d_head=d_head, bias=bias, **(own | stages))

    def forward(self, x: Tensor, context: Tensor | None = None, mask: Any = None) -> Tokens:
        """As ``MultiHeadAttention``; attend sees the tokens too, for they decide how to mix."""
        context = x if context is None else context
        q, k, v = self.project(x, context)
        q, k, v = self.split(q, k, v)
        z = self.attend(q, k, v, mask, x, context)  # <- the idea
        z = self.concat(z)
        return self.W_O(z)


def _allowed(weights: Weights, mask: Tensor | None) -> Weights:
    return weights if mask is None else weights.masked_fill(~mask, 0.0)
