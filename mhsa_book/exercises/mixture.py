"""Exercises of chapter 23, mixture of heads."""

from types import EllipsisType
from typing import Any

import torch
from einops import rearrange
from torch import Tensor, nn

from mhsa_book.exercises.drawn_inputs import drawn
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_lib.shapes import Gates, GroupShares, Queries, RoutedShares, SharedShares, Tokens
from mhsa_lib.stages import Stage
from mhsa_lib.tracing.wires import trace
from mhsa_lib.variants import mixture as routing
from mhsa_lib.variants.mixture import MixtureOfHeadAttention

N_SHARED, N_ROUTED, N_ACTIVE = 4, 12, 8
LEARNS = 1e-9
"""What a gradient has to exceed; rounding alone leaves W_R less than a tenth of it."""


def sum_of_gates() -> float:
    """Of one token, when the router is all zeros."""
    alphas, shared, routed = (torch.zeros(1, n).softmax(-1) for n in (2, N_SHARED, N_ROUTED))
    chosen = torch.arange(N_ROUTED)[None] < N_ACTIVE
    return float(routing.released_scaling(alphas, shared, routed, chosen).sum())


class QueryNormRouter(Stage):
    """Without parameters: a routed head counts by the length of its query over their spread.

    It is the router of the continue-tuned LLaMA3-8B, to be used with ``hard_scaling``.

    >>> q = torch.ones(4, 1, 3) * torch.tensor([9.0, 1, 3, 2])[:, None, None]
    >>> QueryNormRouter(12, n_shared=1, n_routed=3)(torch.zeros(1, 12), q)[2].argmax()
    tensor(1)
    """

    wires = {"alphas": GroupShares, "shared": SharedShares, "routed": RoutedShares}

    def __init__(self, d_model: int, n_shared: int, n_routed: int) -> None:
        super().__init__()
        self.n_shared = n_shared

    def forward(self, x: Tokens, q: Queries) -> routing.Shares:
        norms = rearrange(q.norm(dim=-1), "... head query -> ... query head")
        shared, routed = norms[..., : self.n_shared], norms[..., self.n_shared :]
        # One head has no spread; the correction would divide by 0.
        spread = routed.std(dim=-1, keepdim=True, correction=min(1, routed.shape[-1] - 1))
        routed = (routed / spread.clamp_min(torch.finfo(q.dtype).eps)).softmax(dim=-1)
        # Ones and no distributions, because here nothing weighs the groups or the shared heads.
        groups = norms.new_ones(*norms.shape[:-1], 2 if self.n_shared else 1)
        return groups, torch.ones_like(shared), routed


def hard_scaling(alphas: Tensor, shared: Tensor, routed: Tensor, chosen: Tensor) -> Gates:
    """Return gates of 1 for chosen heads, as in the continue-tuned model."""
    return torch.cat([alphas[..., :-1] * shared, alphas[..., -1:] * chosen], dim=-1)


def idle(answer: Any) -> str:
    """Why a loss does not teach a layer's W_R without giving up the rest; "" if it does."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        return "Hand over the layer and its loss."
    layer, loss = answer
    if not isinstance(layer, MixtureOfHeadAttention):
        return f"The first is {type(layer).__name__}, which does not route."
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        return "A loss is one number."
    if layer.route.scaling is not routing.released_scaling or layer.n_active != 1:
        return "These are other gates. Leave them, with one active head; change the loss."
    if not loss.requires_grad:
        return "This loss has no gradient: nothing learns from it."
    maps: tuple[Any, Any] = layer.route.router.W_R, layer.project.W_V
    learned, others = (_largest(W.weight, loss) for W in maps)
    if learned < LEARNS:
        return "W_R has no gradient from it. Which loss of the chapter reads the shares?"
    return "" if others > LEARNS else "Now W_R learns and the values do not: add to the loss."


def _largest(W: nn.Parameter, loss: Tensor) -> float:
    """The largest number of a gradient, also after a backward that has used up the graph."""
    found: Tensor | None
    try:
        found = torch.autograd.grad(loss, W, retain_graph=True, allow_unused=True)[0]
    except RuntimeError:
        found = W.grad
    return 0.0 if found is None else found.abs().max().item()


def misrouted(router: Any) -> str | EllipsisType:
    """What is wrong with routers that go by the sign of column 0; dots if there are no shares.

    ``router`` is called as a class of routers is: with d_model, shared and routed heads.
    """
    if isinstance(router, nn.Module) or not callable(router):
        return "Hand over the class of your routers itself: BySign, without brackets."
    x = drawn(32, 64).where(drawn(32, 64).bool(), 0.1)  # no token between the two heads
    with torch.random.fork_rng(devices=[]):
        made = router(64, 2, 2)
        if not isinstance(made, nn.Module):
            return f"It makes {type(made).__name__}, which is no router."
        if any(True for _ in made.parameters()):
            return "It has parameters; the sign alone decides."
        shares = made(x, drawn(4, 32, 16, seed=1))
        if shares is None or shares is ... or any(part is ... for part in shares):
            return ...
        options: dict[str, Any] = {"router": router, "scaling": hard_scaling}
        layer = MixtureOfHeadAttention(64, 4, n_shared=2, n_active=1, **options)
    if not isinstance(shares[-1], Tensor) or shares[-1].shape != (32, 2):
        return "The third part has one share for each of the two routed heads, (32, 2) here."
    with torch.no_grad(), trace(layer) as wires:
        layer(x)
    return _unlike(wires["gates"], x[:, 0] > 0)


def _unlike(gates: Tensor, first: Tensor) -> str:
    if not (gates[:, :2] == 1).all():
        return "The gates of the shared heads are no longer 1; leave alphas and shared alone."
    wrong = (gates[:, 2] == 1) != first
    if wrong.all():
        return "Every token takes the other head: the largest share wins."
    if len(gates[:, 2].unique()) == 1:
        return "All tokens take the same head."
    count = int(wrong.sum())
    return f"{count} of 32 tokens take the wrong head." if count else ""


EXERCISES: dict[str, Exercise] = {
    "sum_of_gates": Value(
        sum_of_gates,
        because="Each distribution is multiplied by its number of entries, so all gates are 1.",
        wrong={
            8: "Those are the routed heads. The shared ones count as well.",
            4: "Those are the shared heads. The active ones count as well.",
            16: "Four routed heads are not active; their gates are 0.",
            1: "Gates that sum to at most 1 are the paper's.",
            5 / 6: "That is the sum of the paper's gates.",
        },
    ),
    "router_learns": OpenAnswer(
        idle, because="W_R has a gradient now, and the gates are what they were."
    ),
    "router_by_sign": OpenAnswer(
        misrouted, because="The sign of one column routes all tokens, and nothing is learned."
    ),
}
