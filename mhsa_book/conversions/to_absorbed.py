"""Latent attention with W_UK and W_UV absorbed: the latents themselves are keys and values.

qᵀ(W_UK c) = (W_UKᵀ q)ᵀ c: a query is mapped into the space of the latents instead of every
latent into that of the keys. Σ a (W_UV c) = W_UV (Σ a c): the latents are averaged and W_UV
follows. So nothing is made again from the cached latents, and all heads share one key of
d_latent + d_rope columns and one value, the first d_latent of them: multi-query attention.
It pays when few queries meet many keys, in decoding. With as many queries as keys, as in
training, scores over wide latents cost more than keys made once.

Source: DeepSeek-AI, "DeepSeek-V2", section 2.1.2, arXiv 2405.04434.
"""

from typing import Any

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from mhsa_lib import copying, functional
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.execution_mode import is_unmodified
from mhsa_lib.shapes import (
    HeadOutputs,
    HeadRows,
    LatentQueryRows,
    Latents,
    RotaryKeys,
)
from mhsa_lib.stages import Attend, Stage, Wire
from mhsa_lib.variants.latent import LatentSplit

AbsorbedQueries = Float[Tensor, "*batch head query d_absorbed"]
AbsorbedKeys = Float[Tensor, "*batch kv_head key d_absorbed"]
AbsorbedValues = Float[Tensor, "*batch kv_head key d_latent"]
AbsorbedOutputs = Float[Tensor, "*batch head query d_latent"]


class AbsorbedSplit(LatentSplit):
    """Queries go through W_UK into the space of the latents, which are the keys."""

    wires = {
        "q_absorbed": AbsorbedQueries,
        "k_shared": AbsorbedKeys,
        "v_shared": AbsorbedValues,
    }

    def __init__(self, split: LatentSplit) -> None:
        nn.Module.__init__(self)
        self.n_heads, self.rotary, self.widths = split.n_heads, split.rotary, split.widths
        self.W_UK = split.W_UK

    def forward(
        self,
        q: LatentQueryRows,
        latent: Latents,
        k_rope: RotaryKeys,
        positions: Tensor | None = None,
    ) -> tuple[AbsorbedQueries, AbsorbedKeys, AbsorbedValues]:
        nope, rope = self.queries(q, latent, positions)
        W_UK = rearrange(
            _weight(self.W_UK), "(head d) latent -> head d latent", head=self.n_heads
        )
        q = torch.cat([nope @ W_UK, rope], dim=-1)
        k = torch.cat([latent, k_rope], dim=-1)[..., None, :, :]
        return q, k, k[..., : latent.shape[-1]]


class AbsorbedAttend(Attend):
    """Every head reads the same keys and the same values, and answers in latent space."""

    wires = {"z_latent": AbsorbedOutputs}

    def forward(
        self, q: AbsorbedQueries, k: AbsorbedKeys, v: AbsorbedValues, mask: Any = None
    ) -> AbsorbedOutputs:
        heads = q.shape[:-2]
        weights = self.attention_weights(q, k.expand(*heads, *k.shape[-2:]), mask)
        return functional.mix(self.dropout(weights), v.expand(*heads, *v.shape[-2:]))


class AbsorbedConcat(Stage):
    """Out of latent space through W_UV, head by head, and side by side."""

    wires = {"concat": HeadRows}

    def __init__(self, n_heads: int, W_UV: nn.Linear) -> None:
        super().__init__()
        self.n_heads, self.W_UV = n_heads, W_UV
        self.z = Wire("z", HeadOutputs)

    def forward(self, z: AbsorbedOutputs) -> HeadRows:
        W_UV = rearrange(
            _weight(self.W_UV), "(head d) latent -> head latent d", head=self.n_heads
        )
        return functional.concat_heads(self.z(z @ W_UV))


class AbsorbedLatentAttention(MultiHeadAttention):
    """The function of a ``LatentAttention`` with its own parameters, in the order for decoding.

    Parameters
    ----------
    attention : the ``LatentAttention`` to absorb. Both hold the same parameters: train one,
        and both change

    Raises
    ------
    TypeError : for anything but a ``LatentAttention``
    ValueError : for one with a stage that is not its own, or with something added to it

    Examples
    --------
    >>> from mhsa_lib.variants.latent import LatentAttention
    >>> mla, x = LatentAttention(12, 3, d_latent=4, d_rope=2), torch.randn(2, 5, 12)
    >>> torch.allclose(AbsorbedLatentAttention(mla)(x), mla(x), atol=1e-6)
    True
    """

    def __init__(self, attention: Any) -> None:
        copying.check_modules(
            attention, _KNOWN, "has no absorbed form", "keep the five stages for it"
        )
        for W in (attention.split.W_UK, attention.split.W_UV):
            _weight(W)
        own = copying.copied(
            attention, {id(shared): shared for shared in attention.parameters()}
        )
        super().__init__(
            own.d_model,
            own.n_heads,
            d_head=own.d_head,
            project=own.project,
            split=AbsorbedSplit(own.split),
            attend=AbsorbedAttend(own.attend.scale, own.attend.dropout.p),
            concat=AbsorbedConcat(own.n_heads, own.split.W_UV),
            W_O=own.W_O,
        )
        self.train(attention.training)


_KNOWN: copying.Classes = copying.LATENT | {"project": (), "W_O": ()}


def _weight(W: nn.Linear) -> Tensor:
    """Of a map that is absorbed, so never called: what is added to it would not act."""
    if not is_unmodified(W, nn.Linear) or W.bias is not None:
        raise ValueError(
            f"{type(W).__name__} has a hook, a bias or a wrapper around it, and what is "
            f"absorbed is the weight alone; merge that first, or call the LatentAttention."
        )
    return W.weight
