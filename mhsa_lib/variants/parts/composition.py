"""Mix the heads of every (query, key) pair: from the h numbers of a pair, h new ones.

A ``Compose`` adds what its branches make of the numbers, ``a' = a + Σ branch(a)``. A static
branch mixes every pair alike; a dynamic one reads its mixing off the token at the query, or at
the key. Each mixes with one map of heads to heads, W_b, Σ_r w1ᵣ w2ᵣᵀ or a diagonal.

Source: Xiao et al., "Improving Transformers with Dynamically Composable Multi-Head Attention",
section 2, arXiv 2405.08553; sizes and initialisation as in the authors' code,
github.com/Caiyun-AI/DCFormer.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch
from einops import einsum, rearrange
from torch import Tensor, nn
from torch.nn import functional

from mhsa_lib import checks
from mhsa_lib.shapes import (
    HeadMap,
    KeyGates,
    KeyMaps,
    Maps,
    QueryGates,
    QueryMaps,
    Scores,
    TokenGates,
)
from mhsa_lib.stages import Wire

SIDES = {"query": (QueryMaps, QueryGates), "key": (KeyMaps, KeyGates)}
"""A dynamic branch reads the tokens of one side; its maps run along that axis."""


class KeyWire(Wire):
    """What a key token decides: later queries need it, so decoding keeps it."""

    def __init__(self, name: str, alias: Any) -> None:
        super().__init__(name, alias)
        self.cached = tuple(self.wires)  # type: ignore[misc]


WIRES = {"query": Wire, "key": KeyWire}


class Branch(nn.Module):
    """A part of a ``Compose``: ``forward`` makes its maps, ``mix`` says what they add.

    ``forward(tokens)`` is given the tokens by side, {"query": x, "key": context}. ``mix(a,
    maps)`` gets the numbers of all pairs, (…, head, query, key), and gives as many. ``sizes``
    are those of the attention that it was made for; empty when it fits any.
    """

    sizes: Mapping[str, int] = MappingProxyType({})


class Static(Branch):
    """One map for all pairs: what a head gets from each, W_b (from, to), zero at first."""

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        checks.positive(n_heads=n_heads)
        self.sizes = {"n_heads": n_heads}
        self.W_b = nn.Parameter(torch.zeros(n_heads, n_heads))

    def forward(self, tokens: Mapping[str, Tensor]) -> HeadMap:
        return self.W_b

    def mix(self, a: Scores, W_b: HeadMap) -> Scores:
        """Every head gets a share of every other."""
        return einsum(a, W_b, "... head query key, head to -> ... to query key")


class LowRank(Branch):
    """A map of rank ``rank``, made by the token: it reads the heads with w1, writes with w2.

    Parameters
    ----------
    d_model : width of a token
    n_heads : heads that are mixed
    rank : how many pairs of w1 and w2, at most n_heads
    place : "pre" or "post" the softmax; begins the names of the wires
    side : "query" or "key", whose token decides

    Raises
    ------
    ValueError : for a rank above n_heads, or another side
    """

    def __init__(self, d_model: int, n_heads: int, rank: int, place: str, side: str) -> None:
        super().__init__()
        checks.positive(d_model=d_model, n_heads=n_heads, rank=rank)
        check_rank(n_heads, rank)
        self.sizes = {"d_model": d_model, "n_heads": n_heads}
        self.rank, self.side = rank, _known(side)
        d_hidden, maps = 4 * n_heads, SIDES[side][0]
        self.W_1 = nn.Linear(d_model, d_hidden, bias=False)
        self.W_2 = nn.Linear(d_hidden, 2 * rank * n_heads, bias=False)
        self.w1 = WIRES[side](f"{place}_{side}_w1", maps)
        self.w2 = WIRES[side](f"{place}_{side}_w2", maps)
        nn.init.normal_(self.W_1.weight, std=math.sqrt(2 / (d_model + d_hidden)))
        shrink = math.sqrt(2 * n_heads * rank) * (n_heads + rank)
        nn.init.normal_(self.W_2.weight, std=0.02 / shrink)

    def forward(self, tokens: Mapping[str, Tensor]) -> tuple[Maps, Maps]:
        made = self.W_2(functional.gelu(self.W_1(tokens[self.side])))
        split = "... seq (two rank head) -> two ... seq rank head"
        w1, w2 = rearrange(made, split, two=2, rank=self.rank)
        return self.w1(functional.rms_norm(w1, w1.shape[-1:], eps=1e-6)), self.w2(w2)

    def mix(self, a: Scores, maps: tuple[Maps, Maps]) -> Scores:
        """Read one number per rank off the heads; write it to the heads."""
        w1, w2 = maps
        at = f"... {self.side} rank head"
        read = einsum(a, w1, f"... head query key, {at} -> ... rank query key")
        return einsum(read, w2, f"... rank query key, {at} -> ... head query key")


class Gate(Branch):
    """A factor for each head, between -1 and 1, made by the token; see ``LowRank``."""

    def __init__(self, d_model: int, n_heads: int, place: str, side: str) -> None:
        super().__init__()
        checks.positive(d_model=d_model, n_heads=n_heads)
        self.sizes = {"d_model": d_model, "n_heads": n_heads}
        self.side = _known(side)
        self.W_g = nn.Linear(d_model, n_heads, bias=False)
        self.gate = WIRES[side](f"{place}_{side}_gate", SIDES[side][1])
        nn.init.normal_(self.W_g.weight, std=0.05 * math.sqrt(2 / (n_heads + d_model)))

    def forward(self, tokens: Mapping[str, Tensor]) -> TokenGates:
        return self.gate(self.W_g(tokens[self.side]).tanh())

    def mix(self, a: Scores, gate: TokenGates) -> Scores:
        """Add to each head its own number, times its gate."""
        return einsum(
            a, gate, f"... head query key, ... {self.side} head -> ... head query key"
        )


class Compose(nn.Module):
    """What the branches make of the numbers of every pair, added to them; none: unchanged.

    >>> import torch
    >>> a, x = torch.randn(3, 2, 2), torch.zeros(2, 12)
    >>> torch.equal(Compose()(a, x, x), a)
    True
    """

    def __init__(self, *branches: Any) -> None:
        super().__init__()
        self.branches: Any = nn.ModuleList(branches)

    def check(self, **sizes: int) -> None:
        """Raise ``ValueError`` for a branch that was made for other sizes."""
        for branch in self.branches:
            for name, size in branch.sizes.items():
                if size != sizes[name]:
                    raise ValueError(
                        f"{type(branch).__name__} was made for {name}={size}, but the "
                        f"attention has {name}={sizes[name]}; make it for these sizes."
                    )

    def forward(self, a: Scores, x: Tensor, context: Tensor) -> Scores:
        tokens = {"query": x, "key": context}
        maps = [branch(tokens) for branch in self.branches]
        mixed = a
        for branch, made in zip(self.branches, maps, strict=True):
            mixed = mixed + branch.mix(a, made)
        return mixed


def five_branches(d_model: int, n_heads: int, rank: int, place: str) -> Compose:
    """The paper's: static; low rank by query and by key; gates by query and by key.

    >>> [type(branch).__name__ for branch in five_branches(12, 3, 2, "pre").branches]
    ['Static', 'LowRank', 'LowRank', 'Gate', 'Gate']
    """
    return Compose(
        Static(n_heads),
        *(LowRank(d_model, n_heads, rank, place, side) for side in SIDES),
        *(Gate(d_model, n_heads, place, side) for side in SIDES),
    )


def check_rank(n_heads: int, rank: int) -> None:
    """Raise ``ValueError`` for a rank that no map of heads to heads has.

    >>> check_rank(n_heads=3, rank=9)
    Traceback (most recent call last):
    ...
    ValueError: rank=9 exceeds n_heads=3; a map of heads to heads has at most that rank: ...
    """
    checks.positive(n_heads=n_heads, rank=rank)
    if rank > n_heads:
        raise ValueError(
            f"rank={rank} exceeds n_heads={n_heads}; a map of heads to heads has at most "
            f"that rank: try rank={n_heads}."
        )


def _known(side: str) -> str:
    if side not in SIDES:
        raise ValueError(f'side={side!r} is no side of a pair; choose "query" or "key".')
    return side
