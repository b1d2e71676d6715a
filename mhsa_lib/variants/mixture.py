"""Mixture-of-head attention: every token chooses some of the heads and weighs them.

Changes: between attend and concat, route multiplies every head's z with a gate that a router
    reads off the token: shared heads always count, of the routed ones the n_active best.
Saves/Costs: costs up to (n_heads + 2) · d_model parameters. As in the released training code
    every head is computed and then multiplied, many with 0: nothing is saved. Leaving heads out
    could not save their keys and values, because another token may have chosen that head.
Is MHA when: all routed heads are active and the router's weights are zero, with
    ``released_scaling``; every gate is then 1.
Source: Jin et al., "MoH", section 3, arXiv 2410.11842, and their code, called released here,
    github.com/SkyworkAI/MoH at commit 2cefd57.
"""

from collections.abc import Callable
from typing import Any

import torch
from einops import rearrange
from torch import Tensor, nn

from mhsa_lib import checks
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.shapes import (
    Chosen,
    Gates,
    GroupShares,
    HeadOutputs,
    Queries,
    RoutedShares,
    SharedShares,
    Tokens,
)
from mhsa_lib.stages import Stage, Wire

Shares = tuple[GroupShares, SharedShares, RoutedShares]
Scaling = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


class NothingToChoose(nn.Module):
    """The logits, 0, of a choice of one or none, in which nothing is learned."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n

    def forward(self, x: Tensor) -> Tensor:
        return x.new_zeros(*x.shape[:-1], self.n)


class TokenRouter(Stage):
    """Three distributions per token: over shared and routed heads, and within each group.

    >>> router = TokenRouter(d_model=12, n_shared=1, n_routed=3)
    >>> [part.shape[-1] for part in router(torch.randn(5, 12), torch.randn(4, 5, 3))]
    [2, 1, 3]
    """

    wires = {"alphas": GroupShares, "shared": SharedShares, "routed": RoutedShares}

    def __init__(self, d_model: int, n_shared: int, n_routed: int) -> None:
        super().__init__()
        self.W_H = _choice(d_model, 2 if n_shared else 1)
        self.W_S = _choice(d_model, n_shared)
        self.W_R = _choice(d_model, n_routed)

    def forward(self, x: Tokens, q: Queries) -> Shares:
        return self.W_H(x).softmax(-1), self.W_S(x).softmax(-1), self.W_R(x).softmax(-1)


def _choice(d_model: int, n: int) -> nn.Module:
    if n < 2:
        return NothingToChoose(n)
    logits = nn.Linear(d_model, n, bias=False)
    nn.init.trunc_normal_(logits.weight, std=0.02)  # as in all linear maps of MoH-ViT
    return logits


def routed_heads(n_heads: int, n_shared: int, n_active: int) -> int:
    """Return how many heads are left to route, and refuse numbers of heads that cannot be."""
    checks.positive(n_heads=n_heads, n_active=n_active)
    # Zero is allowed, so ``positive`` cannot check it.
    if isinstance(n_shared, bool) or not isinstance(n_shared, int):
        raise TypeError(f"n_shared={n_shared!r} is not a whole number; pass an int.")
    if not 0 <= n_shared <= n_heads - n_active:
        raise ValueError(
            f"n_shared={n_shared} and n_active={n_active} do not fit n_heads={n_heads}; make "
            f"n_shared at least 0, and both together at most {n_heads}."
        )
    return n_heads - n_shared


def _gates(alphas: Tensor, shared: Tensor, routed: Tensor) -> Tensor:
    # Without shared heads there is one alpha, and ``:-1`` and ``shared`` are both empty.
    return torch.cat([alphas[..., :-1] * shared, alphas[..., -1:] * routed], dim=-1)


def paper_scaling(
    alphas: GroupShares, shared: SharedShares, routed: RoutedShares, chosen: Chosen
) -> Gates:
    """Return the gates of equations 5 and 6; only chosen heads count, so they sum to at most 1.

    >>> shares = torch.tensor([0.5, 0.5]), torch.tensor([1.0]), torch.tensor([0.75, 0.25])
    >>> paper_scaling(*(share[None] for share in shares), torch.tensor([[True, False]]))
    tensor([[0.5000, 0.3750, 0.0000]])
    """
    return _gates(alphas, shared, routed * chosen)


def released_scaling(
    alphas: GroupShares, shared: SharedShares, routed: RoutedShares, chosen: Chosen
) -> Gates:
    """Return the gates of the released code: each distribution times its number of entries.

    The shares of the chosen heads are divided by their sum, so at the start of training every
    gate that counts is near 1. One active head has exactly 1: no gradient reaches ``W_R``.

    >>> shares = torch.tensor([0.5, 0.5]), torch.tensor([1.0]), torch.tensor([0.75, 0.25])
    >>> released_scaling(*(share[None] for share in shares), torch.tensor([[True, False]]))
    tensor([[1., 1., 0.]])
    """
    kept = routed * chosen
    # topk chose at least one head, but its share may have underflowed to 0.
    kept = kept / kept.sum(-1, keepdim=True).clamp_min(torch.finfo(kept.dtype).eps)
    n_active = chosen.sum(-1, keepdim=True)
    return _gates(alphas * alphas.shape[-1], shared * shared.shape[-1], kept * n_active)


def paper_balance(routed: RoutedShares, chosen: Chosen) -> Tensor:
    """Return Σ P_i f_i over routed heads: mean share times part of the tokens that chose it.

    All tokens count, padding too. Evenly used heads give n_active / n_routed, one head for all
    tokens gives 1.

    >>> shares = torch.tensor([[0.5, 0.5], [0.5, 0.5]])
    >>> paper_balance(shares, torch.tensor([[True, False], [False, True]]))
    tensor(0.5000)
    """
    P = routed.flatten(end_dim=-2).mean(dim=0)
    f = chosen.to(routed.dtype).flatten(end_dim=-2).mean(dim=0)
    return (P * f).sum()


def released_balance(routed: RoutedShares, chosen: Chosen) -> Tensor:
    """Return ``paper_balance`` times the number of routed heads: n_active if evenly used."""
    return paper_balance(routed, chosen) * routed.shape[-1]


class Route(Stage):
    """Choose the best routed heads of every token, gate all, and keep the ``balance_loss``."""

    wires = {"gated": HeadOutputs}

    def __init__(self, router: nn.Module, n_active: int, scaling: Scaling) -> None:
        super().__init__()
        self.router, self.n_active, self.scaling = router, n_active, scaling
        self.gates = Wire("gates", Gates)
        self.balance_loss: Tensor | None = None

    def extra_repr(self) -> str:
        return f"n_active={self.n_active}"

    def __getstate__(self) -> dict[str, Any]:
        # A loss with its graph can be neither copied nor stored, so copies have none.
        return self.__dict__ | {"balance_loss": None}

    def forward(self, x: Tokens, q: Queries, z: HeadOutputs) -> HeadOutputs:
        alphas, shared, routed = self.router(x, q)
        # Every head has been computed: which of them count differs from token to token.
        best = routed.topk(self.n_active, dim=-1).indices
        chosen = torch.zeros_like(routed, dtype=torch.bool).scatter(-1, best, 1)
        self.balance_loss = released_balance(routed, chosen) if self.training else None
        gates = self.gates(self.scaling(alphas, shared, routed, chosen))
        return rearrange(gates, "... query head -> ... head query 1") * z


class MixtureOfHeadAttention(MultiHeadAttention):
    """Multi-head attention whose tokens choose and weigh their heads.

    >>> moh = MixtureOfHeadAttention(d_model=12, n_heads=6, n_shared=2, n_active=1)
    >>> moh(torch.randn(2, 5, 12)).shape
    torch.Size([2, 5, 12])

    Parameters
    ----------
    d_model, n_heads, options : as in ``MultiHeadAttention``; a router never has a bias
    n_shared : how many heads, the first ones, every token uses; may be 0
    n_active : how many of the other heads, the routed ones, a token uses; more than there are
        raise ``ValueError``
    router : builds the router from d_model, n_shared and the number of routed heads
    scaling : gates from the router's shares; ``paper_scaling`` is another
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_shared: int,
        n_active: int,
        *,
        router: Callable[[int, int, int], nn.Module] = TokenRouter,
        scaling: Scaling = released_scaling,
        **options: Any,
    ) -> None:
        super().__init__(d_model, n_heads, **options)
        # The router comes last: with the same seed all else is as in ``MultiHeadAttention``.
        n_routed = routed_heads(n_heads, n_shared, n_active)
        self.n_shared, self.n_active = n_shared, n_active
        self.route = Route(router(d_model, n_shared, n_routed), n_active, scaling)

    def forward(self, x: Tensor, context: Tensor | None = None, mask: Any = None) -> Tokens:
        context = x if context is None else context
        q, k, v = self.project(x, context)
        q, k, v = self.split(q, k, v)
        z = self.attend(q, k, v, mask)
        z = self.concat(self.route(x, q, z))  # <- the idea
        return self.W_O(z)

    def __call__(self, *args: Any, **options: Any) -> Any:
        before = getattr(self.route, "balance_loss", None)
        try:
            return super().__call__(*args, **options)
        except BaseException:  # behind the router: the loss of a call that failed does not stay
            self.route.balance_loss = before
            raise


def balance_loss(model: nn.Module) -> Tensor:
    """Return the mean over layers of the ``released_balance`` of the last training pass.

    The paper adds 0.01 times this to the loss of the task. Raises ``ValueError`` if a layer has
    none, because no such pass has run, or if nothing in ``model`` routes; and where gradients
    are recorded, but were not in that pass, so that no router could learn from it.

    >>> moh = MixtureOfHeadAttention(12, 6, n_shared=2, n_active=4)
    >>> y = moh(torch.randn(5, 12))
    >>> round(balance_loss(moh).item(), 3)
    4.0
    """
    layers = [module for module in model.modules() if isinstance(module, Route)]
    losses = [layer.balance_loss for layer in layers if layer.balance_loss is not None]
    if len(losses) < max(1, len(layers)):
        raise ValueError(
            f"{len(losses)} of {len(layers)} routed layers in {type(model).__name__} have a "
            f"balance loss; pass a model with MixtureOfHeadAttention, call its train() and run "
            f"a forward pass first."
        )
    routers = any(p.requires_grad for layer in layers for p in layer.parameters())
    if torch.is_grad_enabled() and routers and not all(loss.requires_grad for loss in losses):
        raise ValueError(
            "the last pass recorded no gradients, so the routers would not learn balance; use "
            "checkpoint(..., use_reentrant=False), or ask inside torch.no_grad()."
        )
    return torch.stack(losses).mean()
