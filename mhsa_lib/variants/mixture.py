"""Mixture-of-head attention: every token chooses some of the heads and weighs them.

Changes: between attend and concat, route multiplies every head's z with a gate that a router
    reads off the token: shared heads always count, of the routed ones the n_active best.
Saves/Costs: costs up to (n_heads + 2) · d_model parameters. As in the released training code
    every head is computed and then multiplied, many with 0: nothing is saved. Leaving heads out
    could save their queries, scores, z and part of W_O, but no key and no value, because
    another token may have chosen that head.
Is MHA when: all routed heads are active and the router's weights are zero, with
    ``released_scaling``; every gate is then 1.
Source: Jin et al., "MoH", section 3, arXiv 2410.11842, and their code (``routing``).
"""

from collections.abc import Callable
from typing import Any

import torch
from einops import rearrange
from torch import Tensor, nn

from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.shapes import Gates, HeadOutputs, Queries, Tokens
from mhsa_lib.stages import Stage, Wire
from mhsa_lib.variants.parts.routing import (
    TokenRouter,
    released_balance,
    released_scaling,
    routed_heads,
)

Scaling = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
Balance = Callable[[Tensor, Tensor], Tensor]


class Route(Stage):
    """Choose the ``n_active`` best routed heads of every token, and gate what heads found.

    In training mode every pass leaves its balance loss in ``balance_loss``, with its graph; in
    evaluation mode there is none, and no copy or file ever holds one.
    """

    wires = {"gated": HeadOutputs}

    def __init__(
        self, router: nn.Module, n_active: int, scaling: Scaling, balance: Balance
    ) -> None:
        super().__init__()
        self.router, self.n_active = router, n_active
        self.scaling, self.balance = scaling, balance
        self.gates = Wire("gates", Gates)
        self.balance_loss: Tensor | None = None

    def extra_repr(self) -> str:
        return f"n_active={self.n_active}"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"balance_loss": None}

    def forward(self, x: Tokens, q: Queries, z: HeadOutputs) -> HeadOutputs:
        alphas, shared, routed = self.router(x, q)
        best = routed.topk(self.n_active, dim=-1).indices
        chosen = torch.zeros_like(routed, dtype=torch.bool).scatter(-1, best, True)
        self.balance_loss = self.balance(routed, chosen) if self.training else None
        gates = self.gates(self.scaling(alphas, shared, routed, chosen))
        return rearrange(gates, "... query head -> ... head query 1") * z


class MixtureOfHeadAttention(MultiHeadAttention):
    """Multi-head attention whose tokens choose and weigh their heads.

    Parameters
    ----------
    d_model : width of a token, in columns
    n_heads : all heads, shared and routed
    n_shared : the first of them, which every token uses; may be 0
    n_active : how many of the other heads, the routed ones, a token uses
    d_head : width of a head; d_model / n_heads when not given, free otherwise
    bias : whether the four linear maps add a bias; a router never does
    dropout : probability of dropping an attention weight in training
    router : builds the router from d_model, n_shared and the number of routed heads
    scaling : gates from the router's shares; ``paper_scaling``, ``hard_scaling`` are others
    balance : loss of one layer from its routing; ``paper_balance`` is another
    stages : ``project``, ``split``, ``attend``, ``concat`` or ``W_O`` in place of the own ones

    Raises
    ------
    ValueError : if no head is left to route, or more are active than routed

    Examples
    --------
    >>> moh = MixtureOfHeadAttention(d_model=12, n_heads=6, n_shared=2, n_active=1)
    >>> moh(torch.randn(2, 5, 12)).shape
    torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_shared: int,
        n_active: int,
        *,
        d_head: int | None = None,
        bias: bool = False,
        dropout: float = 0.0,
        router: Callable[[int, int, int], nn.Module] = TokenRouter,
        scaling: Scaling = released_scaling,
        balance: Balance = released_balance,
        **stages: Any,
    ) -> None:
        own = {"d_head": d_head, "bias": bias, "dropout": dropout}
        super().__init__(d_model, n_heads, **(own | stages))
        n_routed = routed_heads(n_heads, n_shared, n_active)
        self.n_shared, self.n_active = n_shared, n_active
        self.route = Route(router(d_model, n_shared, n_routed), n_active, scaling, balance)

    def forward(self, x: Tensor, context: Tensor | None = None, mask: Any = None) -> Tokens:
        context = x if context is None else context
        q, k, v = self.project(x, context)
        q, k, v = self.split(q, k, v)
        z = self.attend(q, k, v, mask)
        z = self.concat(self.route(x, q, z))  # <- the idea
        return self.W_O(z)


def balance_loss(model: nn.Module) -> Tensor:
    """Mean over the layers of what ``balance`` said about the last pass in training mode.

    The paper adds 0.01 times this to the loss of the task. Raises ``ValueError`` if a layer has
    none, because no such pass has run or because nothing in ``model`` routes.

    >>> moh = MixtureOfHeadAttention(12, 6, n_shared=2, n_active=4)
    >>> y = moh(torch.randn(5, 12))
    >>> round(balance_loss(moh).item(), 3)
    4.0
    """
    layers = [module for module in model.modules() if isinstance(module, Route)]
    losses = [layer.balance_loss for layer in layers if layer.balance_loss is not None]
    if not layers:
        raise ValueError(
            f"{type(model).__name__} holds no MixtureOfHeadAttention; only routed heads have a "
            f"balance loss."
        )
    if len(losses) < len(layers):
        raise ValueError(
            f"{len(layers) - len(losses)} of {len(layers)} routed layers have no balance loss; "
            f"call model.train() and run a forward pass first."
        )
    return torch.stack(losses).mean()


def loads(gates: Gates) -> Tensor:
    """Share of the tokens that use each head, from the wire ``gates``.

    >>> loads(torch.tensor([[1.0, 0.7, 0.0], [1.0, 0.0, 1.3]]))
    tensor([1.0000, 0.5000, 0.5000])
    """
    return (gates != 0).flatten(end_dim=-2).float().mean(dim=0)


def check_routing(gates: Gates, n_shared: int) -> None:
    """Refuse a router that sends every token to the same heads.

    ``gates`` is the wire of a pass over some tokens. Raises ``ValueError`` with the load of
    every routed head; one token, or all heads active, say nothing and pass.

    >>> check_routing(torch.tensor([[1.0, 0.7, 0.0], [1.0, 0.9, 0.0]]), n_shared=1)
    Traceback (most recent call last):
    ...
    ValueError: all 2 tokens are sent to the same 1 of 2 routed heads; their loads are ...
    """
    routed, n_tokens = loads(gates)[n_shared:], gates[..., 0].numel()
    never, always = routed == 0, routed == 1
    if n_tokens > 1 and bool(never.any() and (never | always).all()):
        shown = ", ".join(f"{load:.2f}" for load in routed.tolist())
        raise ValueError(
            f"all {n_tokens} tokens are sent to the same {int(always.sum())} of {len(routed)} "
            f"routed heads; their loads are {shown}. Add balance_loss(model) to the loss, 0.01 "
            f"times in the paper, or start the router again with smaller weights."
        )
