"""Who decides which heads count for a token: routers, gates, and what keeps their use even.

Parts of ``MixtureOfHeadAttention``. A router gives each token ``alphas`` over the two groups of
heads, ``shared`` and ``routed`` within them; a scaling makes gates of these.

Source: Jin et al., "MoH", equations 4 to 8, arXiv 2410.11842; what is called released computes
what github.com/SkyworkAI/MoH computes at commit 2cefd57.
"""

import torch
from einops import rearrange
from torch import Tensor, nn

from mhsa_lib import checks
from mhsa_lib.shapes import (
    Chosen,
    Gates,
    GroupShares,
    Queries,
    RoutedShares,
    SharedShares,
    Tokens,
)
from mhsa_lib.stages import Stage

Shares = tuple[GroupShares, SharedShares, RoutedShares]


class NothingToChoose(nn.Module):
    """One option, or none: its logit is 0 and nothing is learned.

    >>> NothingToChoose(1)(torch.randn(5, 12)).shape
    torch.Size([5, 1])
    """

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n

    def forward(self, x: Tensor) -> Tensor:
        return x.new_zeros(*x.shape[:-1], self.n)


class TokenRouter(Stage):
    """Three distributions per token: over the two groups of heads, and within each group.

    ``alphas`` weigh shared against routed heads. A choice of one has weight 1 and no parameter.

    >>> router = TokenRouter(d_model=12, n_shared=1, n_routed=3)
    >>> alphas, shared, routed = router(torch.randn(5, 12), torch.randn(4, 5, 3))
    >>> alphas.shape, shared.unique(), routed.shape
    (torch.Size([5, 2]), tensor([1.]), torch.Size([5, 3]))
    """

    wires = {"alphas": GroupShares, "shared": SharedShares, "routed": RoutedShares}

    def __init__(self, d_model: int, n_shared: int, n_routed: int) -> None:
        super().__init__()
        self.W_H = _choice(d_model, 2 if n_shared else 1)
        self.W_S = _choice(d_model, n_shared)
        self.W_R = _choice(d_model, n_routed)

    def forward(self, x: Tokens, q: Queries) -> Shares:
        return self.W_H(x).softmax(-1), self.W_S(x).softmax(-1), self.W_R(x).softmax(-1)


class QueryNormRouter(Stage):
    """No parameters: a routed head counts by the length of its query, in units of their spread.

    Use it with ``hard_scaling``. Continue-tuned LLaMA3-8B: half of the heads shared, a quarter
    active, and only the code for inference released.

    >>> q = torch.ones(4, 1, 3) * torch.tensor([9.0, 1, 3, 2])[:, None, None]
    >>> QueryNormRouter(12, n_shared=1, n_routed=3)(torch.zeros(1, 12), q)[2].argmax()
    tensor(1)
    """

    wires = {"alphas": GroupShares, "shared": SharedShares, "routed": RoutedShares}

    def __init__(self, d_model: int, n_shared: int, n_routed: int) -> None:
        super().__init__()
        self.n_shared = n_shared

    def forward(self, x: Tokens, q: Queries) -> Shares:
        norms = rearrange(q.norm(dim=-1), "... head query -> ... query head")
        shared, routed = norms[..., : self.n_shared], norms[..., self.n_shared :]
        spread = routed.std(dim=-1, keepdim=True, correction=min(1, routed.shape[-1] - 1))
        routed = (routed / spread.clamp_min(torch.finfo(q.dtype).eps)).softmax(dim=-1)
        groups = norms.new_ones(*norms.shape[:-1], 2 if self.n_shared else 1)
        return groups, torch.ones_like(shared), routed


def routed_heads(n_heads: int, n_shared: int, n_active: int) -> int:
    """Heads left to route when the first ``n_shared`` always count; ``n_active`` of them do.

    >>> routed_heads(n_heads=4, n_shared=1, n_active=5)
    Traceback (most recent call last):
    ...
    ValueError: n_active=5 is more than the 3 routed heads, n_heads=4 less n_shared=1; ...
    """
    checks.positive(n_heads=n_heads, n_active=n_active)
    if isinstance(n_shared, bool) or not isinstance(n_shared, int):
        raise TypeError(f"n_shared={n_shared!r} is not a whole number; pass an int.")
    if n_shared < 0:
        raise ValueError(
            f"n_shared={n_shared} is not a number of heads; it must be at least 0."
        )
    n_routed = n_heads - n_shared
    if n_routed < 1:
        raise ValueError(
            f"n_shared={n_shared} of n_heads={n_heads} leaves zero routed heads; "
            f"use n_shared={n_heads - 1} or fewer, or MultiHeadAttention."
        )
    if n_active > n_routed:
        raise ValueError(
            f"n_active={n_active} is more than the {n_routed} routed heads, "
            f"n_heads={n_heads} less n_shared={n_shared}; use n_active={n_routed} or fewer."
        )
    return n_routed


def paper_scaling(
    alphas: GroupShares, shared: SharedShares, routed: RoutedShares, chosen: Chosen
) -> Gates:
    """Gates of equations 5 and 6: what was not chosen is lost, so they sum to at most 1.

    >>> shares = torch.tensor([0.5, 0.5]), torch.tensor([1.0]), torch.tensor([0.75, 0.25])
    >>> paper_scaling(*(share[None] for share in shares), torch.tensor([[True, False]]))
    tensor([[0.5000, 0.3750, 0.0000]])
    """
    return _gates(alphas, shared, routed * chosen)


def released_scaling(
    alphas: GroupShares, shared: SharedShares, routed: RoutedShares, chosen: Chosen
) -> Gates:
    """Gates of the released training code: each distribution times its number of entries.

    The routed shares are first divided by the sum of the chosen, so at the start of
    training every gate that counts is near 1. With one active head its share is exactly 1, and
    no gradient reaches ``W_R`` through it.

    >>> shares = torch.tensor([0.5, 0.5]), torch.tensor([1.0]), torch.tensor([0.75, 0.25])
    >>> released_scaling(*(share[None] for share in shares), torch.tensor([[True, False]]))
    tensor([[1., 1., 0.]])
    """
    kept = routed * chosen
    kept = kept / kept.sum(-1, keepdim=True).clamp_min(torch.finfo(kept.dtype).eps)
    n_active = chosen.sum(-1, keepdim=True)
    return _gates(alphas * alphas.shape[-1], shared * shared.shape[-1], kept * n_active)


def hard_scaling(
    alphas: GroupShares, shared: SharedShares, routed: RoutedShares, chosen: Chosen
) -> Gates:
    """A chosen head counts fully: the continue-tuned model weighs nothing.

    >>> shares = torch.tensor([1.0, 1.0]), torch.tensor([1.0]), torch.tensor([0.75, 0.25])
    >>> hard_scaling(*(share[None] for share in shares), torch.tensor([[True, False]]))
    tensor([[1., 1., 0.]])
    """
    return _gates(alphas, shared, chosen.to(routed.dtype))


def paper_balance(routed: RoutedShares, chosen: Chosen) -> Tensor:
    """Σ P_i f_i over the routed heads: mean share times part of the tokens that chose it.

    All tokens of the batch count, padding too. Evenly used heads give n_active / n_routed, one
    head used by all tokens for sure gives 1.

    >>> shares = torch.tensor([[0.5, 0.5], [0.5, 0.5]])
    >>> paper_balance(shares, torch.tensor([[True, False], [False, True]]))
    tensor(0.5000)
    """
    P = routed.flatten(end_dim=-2).mean(dim=0)
    f = chosen.to(routed.dtype).flatten(end_dim=-2).mean(dim=0)
    return (P * f).sum()


def released_balance(routed: RoutedShares, chosen: Chosen) -> Tensor:
    """``paper_balance`` times the number of routed heads; n_active when they are used evenly.

    >>> shares = torch.tensor([[0.5, 0.5], [0.5, 0.5]])
    >>> released_balance(shares, torch.tensor([[True, False], [False, True]]))
    tensor(1.)
    """
    return paper_balance(routed, chosen) * routed.shape[-1]


def _choice(d_model: int, n: int) -> nn.Module:
    """Logits of ``n`` options, spread by 0.02 at the start as all linear maps of MoH-ViT."""
    if n < 2:
        return NothingToChoose(n)
    logits = nn.Linear(d_model, n, bias=False)
    nn.init.trunc_normal_(logits.weight, std=0.02)
    return logits


def _gates(alphas: Tensor, shared: Tensor, routed: Tensor) -> Tensor:
    return torch.cat([alphas[..., :-1] * shared, alphas[..., -1:] * routed], dim=-1)
