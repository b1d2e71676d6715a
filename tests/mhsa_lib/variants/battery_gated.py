"""Heads with a learned gate, of the constants of both papers."""

from torch import nn

from mhsa_lib import MultiHeadAttention
from mhsa_lib.variants.gated import GatedAttention
from tests.mhsa_lib.variants.entry import Variant


def opened(attention: MultiHeadAttention) -> GatedAttention:
    gated = GatedAttention(12, 3, bias=attention.W_O.bias is not None).double().eval()
    missing, unexpected = gated.load_state_dict(attention.state_dict(), strict=False)
    assert (missing, unexpected) == (["gate.log_alpha"], [])
    return gated


def certainly_opened(attention: MultiHeadAttention) -> GatedAttention:
    """In training mode, at which no draw closes a gate."""
    gated = opened(attention)
    nn.init.constant_(gated.gate.log_alpha, 50.0)
    return gated.train()


def smoother() -> GatedAttention:
    gated = GatedAttention(12, 3)
    gated.gate.beta = 2 / 3
    return gated


VARIANTS = [
    Variant("GatedAttention", lambda: GatedAttention(12, 3, bias=True), opened),
    Variant(
        "GatedAttention with the gates of Louizos et al.",
        smoother,
        certainly_opened,
    ),
]
