"""Gated heads: a gate per head, drawn while training, learns which heads are worth their place.

Changes: between attend and concat, gate multiplies the z of every head with one number from 0
    to 1, the same for all tokens. While training it is drawn in every pass from a
    hard-concrete distribution, which gives exactly 0 and exactly 1 with a chance of their own.
Saves/Costs: costs n_heads parameters. Every head is still computed, so nothing is saved until
    the heads with a closed gate are removed (``convert.prune``): 4 · d_model · d_head
    parameters for each.
Is MHA when: every gate is 1. In evaluation it is from log_alpha = log 11 = 2.4 on, so also at
    the start, at 3; while training only with the chance that ``probabilities`` gives.
Source: Louizos, Welling and Kingma, section 2.2, arXiv 1712.01312 (the gates), and their code,
    github.com/AMLab-Amsterdam/L0_regularization at b0c6f67; Voita et al., section 4, arXiv
    1905.09418 (on heads), and theirs, github.com/lena-voita/the-story-of-heads at 3b5734d.
"""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mhsa_lib import checks
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.shapes import HeadGates, HeadOutputs, Tokens
from mhsa_lib.stages import Stage, Wire


class Probabilities(NamedTuple):
    """How often the gate of every head (head,) is drawn 0, neither, and 1; they sum to 1."""

    closed: Tensor
    between: Tensor
    open: Tensor


class HardConcrete(Stage):
    """Gates of a hard-concrete distribution: a widened sigmoid of noise, clipped to [0, 1].

    With uniform noise u, s = sigmoid((log u - log(1 - u) + log_alpha) / beta), and the gate is
    s · (zeta - gamma) + gamma, clipped to [0, 1]; in evaluation mode s = sigmoid(log_alpha).
    One draw serves the whole batch.

    >>> gate = HardConcrete(n_heads=3)
    >>> gate(torch.randn(3, 5, 4)).shape, gate.values()
    (torch.Size([3, 5, 4]), tensor([1., 1., 1.], grad_fn=<ClampBackward1>))

    Parameters
    ----------
    n_heads : number of gates
    log_alpha : where each gate starts, finite; from 2.4 on it is 1 in evaluation mode
    """

    wires = {"gated": HeadOutputs}
    # Stretched to these limits, which both papers take, clipping reaches 0 and 1 exactly.
    gamma, zeta = -0.1, 1.1
    # Of Voita et al., who gate heads; Louizos et al., who gate weights, take 2/3. The smaller,
    # the more draws are exactly 0 or 1.
    beta = 0.33

    # Unlike in the papers' code a gate starts open, so that trained heads begin as they were.
    def __init__(self, n_heads: int, *, log_alpha: float = 3.0) -> None:
        super().__init__()
        checks.positive(n_heads=n_heads)
        if not math.isfinite(log_alpha):
            raise ValueError(f"log_alpha={log_alpha} cannot be learned; start at 3.0, say.")
        self.n_heads = n_heads
        self.log_alpha = nn.Parameter(torch.full((n_heads,), float(log_alpha)))
        self.gates = Wire("gates", HeadGates)

    def extra_repr(self) -> str:
        return f"n_heads={self.n_heads}"

    def forward(self, z: HeadOutputs) -> HeadOutputs:
        gates = self.gates(self.drawn() if self.training else self.values())
        return gates.to(z.dtype)[..., None, None] * z

    def values(self) -> HeadGates:
        """Return the gates of evaluation mode (head,) in any mode; 0 is closed, 1 open."""
        return self._stretched(self._exact().sigmoid())

    def drawn(self) -> HeadGates:
        """Return the gates of one pass in training mode (head,), with new noise."""
        log_alpha = self._exact()
        # The eps keeps noise of exactly 0 or 1 from becoming infinite.
        noise = torch.rand_like(log_alpha).logit(eps=1e-6)
        return self._stretched(((noise + log_alpha) / self.beta).sigmoid())

    def probabilities(self) -> Probabilities:
        """Return how often a drawn gate is 0, between, and 1, in closed form, with gradients.

        >>> [round(p.item(), 3) for p in HardConcrete(1, log_alpha=0.0).probabilities()]
        [0.312, 0.376, 0.312]
        """
        not_closed = self._above(-self.gamma / self.zeta)
        fully_open = self._above((1 - self.gamma) / (self.zeta - 1))
        return Probabilities(1 - not_closed, not_closed - fully_open, fully_open)

    def penalty(self) -> Tensor:
        """Return how many gates are not 0 on average over draws: the expected L0 norm."""
        return self._above(-self.gamma / self.zeta).sum()

    def _above(self, odds: float) -> Tensor:
        # log(s / (1 - s)) is (logistic noise + log_alpha) / beta, so the chance that it exceeds
        # log(odds) is the logistic distribution's, a sigmoid.
        return (self._exact() - self.beta * math.log(odds)).sigmoid()

    def _stretched(self, s: Tensor) -> Tensor:
        return (s * (self.zeta - self.gamma) + self.gamma).clamp(0, 1)

    def _exact(self) -> Tensor:
        # In half precision noise close to 1 would round to 1, whose logit is infinite.
        return self.log_alpha.to(torch.promote_types(self.log_alpha.dtype, torch.float32))


class GatedAttention(MultiHeadAttention):
    """Multi-head attention with a learned gate on every head.

    Add λ · ``gate.penalty()`` of every layer to the loss; then the gates of heads close that
    the task can do without.

    >>> gated = GatedAttention(d_model=12, n_heads=3).eval()
    >>> plain, x = MultiHeadAttention(12, 3), torch.randn(2, 5, 12)
    >>> loaded = gated.load_state_dict(plain.state_dict(), strict=False)
    >>> torch.equal(gated(x), plain(x)), gated.gate.values().tolist()
    (True, [1.0, 1.0, 1.0])

    Parameters
    ----------
    d_model, n_heads, options : as in ``MultiHeadAttention``; each head has a gate
    """

    def __init__(self, d_model: int, n_heads: int, **options: Any) -> None:
        super().__init__(d_model, n_heads, **options)
        self.gate = HardConcrete(n_heads)

    def forward(self, x: Tensor, context: Tensor | None = None, mask: Any = None) -> Tokens:
        context = x if context is None else context
        q, k, v = self.project(x, context)
        q, k, v = self.split(q, k, v)
        z = self.attend(q, k, v, mask)
        z = self.concat(self.gate(z))  # <- the idea
        return self.W_O(z)
