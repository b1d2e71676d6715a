"""Dynamically composed heads: for every pair of tokens, heads exchange scores and weights.

Changes: attend mixes the heads' scores before the softmax, and their weights after it, with
    small maps that the two tokens of the pair make; forward hands it the tokens.
Saves/Costs: 20·d_model·n_heads + 64·n_heads² parameters at rank 2 (and 2·n_heads² static),
    32·n_heads FLOPs per pair; the scores of all heads must exist at once, which plain fused
    kernels avoid; decoding also keeps the maps of the key side, 10·n_heads numbers per token.
Is MHA when: W_2 and W_g of the branches, and W_b, are zero; or there are no
    branches.
Source: Xiao et al., section 2, arXiv 2405.08553. With the static branches alone it is
    talking-heads attention: Shazeer et al., arXiv 2003.02436. Sizes and initialisation as in
    the authors' code, github.com/Caiyun-AI/DCFormer.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from einops import einsum, rearrange
from torch import Tensor, nn

from mhsa_lib import checks, functional, masks
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.shapes import (
    HeadMap,
    HeadOutputs,
    KeyGates,
    KeyMaps,
    Keys,
    Maps,
    Queries,
    QueryGates,
    QueryMaps,
    Scores,
    TokenGates,
    Tokens,
    Values,
    Weights,
)
from mhsa_lib.stages import Attend, Wire

SIDES = {
    "query": {"w1": QueryMaps, "w2": QueryMaps, "gate": QueryGates},
    "key": {"w1": KeyMaps, "w2": KeyMaps, "gate": KeyGates},
}
"""What a branch makes of the tokens of one side of a pair: it runs along that axis."""


def _wire(place: str, side: str, name: str) -> Wire:
    if side not in SIDES:
        raise ValueError(f'side={side!r} is no side of a pair; choose "query" or "key".')
    wire = Wire(f"{place}_{side}_{name}", SIDES[side][name])
    if side == "key":  # later queries need what a key decides, so decoding caches it
        wire.cached = tuple(wire.wires)  # type: ignore[misc]
    return wire


class Branch(nn.Module):
    """A part of a ``Compose``: ``forward`` makes its maps, ``mix`` returns what they add.

    ``forward(tokens)`` is given the tokens by side, {"query": x, "key": context}. ``mix(a,
    maps)`` is given the numbers of all pairs, (…, head, query, key), and returns as many.
    ``sizes`` are those of the attention that it is made for; empty when it fits any.
    """

    def __init__(self, **sizes: int) -> None:
        super().__init__()
        checks.positive(**sizes)
        self.sizes = sizes


class Static(Branch):
    """One map for all pairs: what each head gets from each, W_b (from, to), zero at first."""

    def __init__(self, n_heads: int) -> None:
        super().__init__(n_heads=n_heads)
        self.W_b = nn.Parameter(torch.zeros(n_heads, n_heads))

    def forward(self, tokens: Mapping[str, Tensor]) -> HeadMap:
        return self.W_b

    def mix(self, a: Scores, W_b: HeadMap) -> Scores:
        """Return what every head gets from all heads."""
        return einsum(a, W_b, "... head query key, head to -> ... to query key")


class LowRank(Branch):
    """A map of rank ``rank``, made by the token: it reads the heads with w1, writes with w2.

    The names of the wires begin with ``place``, "pre" or "post" the softmax. ``side`` says
    whose token decides, "query" or "key"; another raises ``ValueError``.
    """

    def __init__(self, d_model: int, n_heads: int, rank: int, place: str, side: str) -> None:
        super().__init__(d_model=d_model, n_heads=n_heads)
        checks.positive(rank=rank)
        self.rank, self.side = rank, side
        d_hidden = 4 * n_heads
        self.W_1 = nn.Linear(d_model, d_hidden, bias=False)
        self.W_2 = nn.Linear(d_hidden, 2 * rank * n_heads, bias=False)
        self.w1, self.w2 = _wire(place, side, "w1"), _wire(place, side, "w2")
        # Small at the start, so that the heads begin nearly unmixed, as in plain attention.
        nn.init.normal_(self.W_1.weight, std=math.sqrt(2 / (d_model + d_hidden)))
        shrink = math.sqrt(2 * n_heads * rank) * (n_heads + rank)
        nn.init.normal_(self.W_2.weight, std=0.02 / shrink)

    def forward(self, tokens: Mapping[str, Tensor]) -> tuple[Maps, Maps]:
        made = self.W_2(nn.functional.gelu(self.W_1(tokens[self.side])))
        split = "... seq (two rank head) -> two ... seq rank head"
        w1, w2 = rearrange(made, split, two=2, rank=self.rank)
        # Only the reading side is normalised; the writing side keeps its size.
        return self.w1(nn.functional.rms_norm(w1, w1.shape[-1:], eps=1e-6)), self.w2(w2)

    def mix(self, a: Scores, maps: tuple[Maps, Maps]) -> Scores:
        """Read one number per rank from the heads, and write it to the heads."""
        w1, w2 = maps
        # Through ``rank`` numbers a pair costs 4 · rank · n_heads FLOPs; with the product of w1
        # and w2, a map of heads to heads, it would cost 2 · n_heads².
        at = f"... {self.side} rank head"
        read = einsum(a, w1, f"... head query key, {at} -> ... rank query key")
        return einsum(read, w2, f"... rank query key, {at} -> ... head query key")


class Gate(Branch):
    """A factor for each head, between -1 and 1, made by the token; see ``LowRank``."""

    def __init__(self, d_model: int, n_heads: int, place: str, side: str) -> None:
        super().__init__(d_model=d_model, n_heads=n_heads)
        self.side = side
        self.W_g = nn.Linear(d_model, n_heads, bias=False)
        self.gate = _wire(place, side, "gate")
        nn.init.normal_(self.W_g.weight, std=0.05 * math.sqrt(2 / (n_heads + d_model)))

    def forward(self, tokens: Mapping[str, Tensor]) -> TokenGates:
        return self.gate(self.W_g(tokens[self.side]).tanh())

    def mix(self, a: Scores, gate: TokenGates) -> Scores:
        """Return the number of each head, times its gate."""
        by_head = f"... {self.side} head"
        return einsum(a, gate, f"... head query key, {by_head} -> ... head query key")


class Compose(nn.Module):
    """Adds what the branches make of the numbers of every pair; without any, nothing."""

    def __init__(self, *branches: Any) -> None:
        super().__init__()
        self.branches: Any = nn.ModuleList(branches)

    def forward(self, a: Scores, x: Tensor, context: Tensor) -> Scores:
        tokens = {"query": x, "key": context}
        # All maps come first, so that their wires come before the numbers they mix. Every
        # branch reads the unmixed numbers: they are added, not applied one after the other.
        maps = [branch(tokens) for branch in self.branches]
        mixed = a
        for branch, made in zip(self.branches, maps, strict=True):
            mixed = mixed + branch.mix(a, made)
        return mixed


def five_branches(d_model: int, n_heads: int, rank: int, place: str) -> Compose:
    """Return the paper's branches: static; low rank and gates, each by query and by key.

    >>> [type(branch).__name__ for branch in five_branches(12, 3, 2, "pre").branches]
    ['Static', 'LowRank', 'LowRank', 'Gate', 'Gate']
    """
    return Compose(
        Static(n_heads),
        *(LowRank(d_model, n_heads, rank, place, side) for side in SIDES),
        *(Gate(d_model, n_heads, place, side) for side in SIDES),
    )


class ComposedAttend(Attend):
    """Score, compose with ``pre``, softmax, compose with ``post``, mix.

    ``weights`` are the softmax's, so their rows sum to 1. ``composed_weights`` need not, and
    may be negative; these are what dropout drops. A pair that the mask forbids has the composed
    weight zero in that head, also where the mask of another head allows it.
    """

    def __init__(
        self, scale: float, pre: nn.Module, post: nn.Module, dropout: float = 0.0
    ) -> None:
        super().__init__(scale, dropout)
        self.pre, self.post = pre, post
        self.composed_scores = Wire("composed_scores", Scores)
        self.composed_weights = Wire("composed_weights", Weights)

    def forward(  # type: ignore[override]
        self, q: Queries, k: Keys, v: Values, mask: Any, x: Tensor, context: Tensor
    ) -> HeadOutputs:
        scores = self.scores(self.score(q, k))
        mask = masks.resolve(mask, scores.shape, scores.device)
        scores = self.composed_scores(self.pre(scores, x, context))
        weights = self.weights(self.normalise(scores, mask))
        # Other heads, with other masks, may have put weight on a forbidden pair.
        weights = self.post(weights, x, context)
        weights = weights if mask is None else weights.masked_fill(~mask, 0.0)
        weights = self.composed_weights(weights)
        return functional.mix(self.dropout(weights), v)


class ComposedAttention(MultiHeadAttention):
    """Multi-head attention whose heads are mixed for every pair of tokens.

    Raises ``ValueError`` for branches that were made for other sizes.

    >>> dcmha = ComposedAttention(d_model=12, n_heads=3)
    >>> dcmha(torch.randn(2, 5, 12), mask=masks.causal).shape
    torch.Size([2, 5, 12])

    Parameters
    ----------
    d_model, n_heads, d_head, bias, dropout, stages : as in ``MultiHeadAttention``
    rank : rank of the map that a token makes; more than n_heads add nothing
    pre, post : a ``Compose`` of other branches than the five, for the scores, for the weights
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        rank: int = 2,
        d_head: int | None = None,
        dropout: float = 0.0,
        pre: Compose | None = None,
        post: Compose | None = None,
        **stages: Any,
    ) -> None:
        d_head = checks.head_width(d_model, n_heads, d_head)
        pre = five_branches(d_model, n_heads, rank, "pre") if pre is None else pre
        post = five_branches(d_model, n_heads, rank, "post") if post is None else post
        # Each branch was made for tokens of one width, whichever side it reads.
        if stages.get("d_context") not in (None, d_model):
            raise ValueError(
                f"d_context={stages['d_context']}, but both tokens of a pair compose its "
                f"heads, so they are alike; leave it out, it is d_model={d_model}."
            )
        sizes = {"d_model": d_model, "n_heads": n_heads}
        for branch in (*pre.branches, *post.branches):
            if not branch.sizes.items() <= sizes.items():
                raise ValueError(
                    f"{type(branch).__name__} was made for {branch.sizes}, but the attention "
                    f"has {sizes}; make it for these sizes."
                )
        own = {"attend": ComposedAttend(d_head**-0.5, pre, post, dropout)}
        super().__init__(d_model, n_heads, d_head=d_head, **(own | stages))

    def forward(self, x: Tensor, context: Tensor | None = None, mask: Any = None) -> Tokens:
        context = x if context is None else context
        q, k, v = self.project(x, context)
        q, k, v = self.split(q, k, v)
        z = self.attend(q, k, v, mask, x, context)  # <- the idea
        z = self.concat(z)
        return self.W_O(z)
