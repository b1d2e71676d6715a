"""Heads that read their neighbours' columns."""

from torch import nn

from mhsa_lib import MultiHeadAttention
from mhsa_lib.shapes import WideHeadOutputs, WideHeadRows
from mhsa_lib.stages import Attend, Concat
from mhsa_lib.variants import OverlappedAttention
from mhsa_lib.variants.overlapped import (
    OverlappedSplit,
)
from tests.mhsa_lib.variants.entry import Variant


def without_overlap(attention: MultiHeadAttention) -> OverlappedAttention:
    overlapped = OverlappedAttention(
        attention.d_model, attention.n_heads, 0, bias=attention.W_O.bias is not None
    ).double()
    overlapped.load_state_dict(attention.state_dict())
    return overlapped


def passed_stages() -> MultiHeadAttention:
    """Plain attention that a reader gives the stages."""
    return MultiHeadAttention(
        12,
        3,
        split=OverlappedSplit(3, 2),
        attend=Attend(scale=0.5).label(z=WideHeadOutputs),
        concat=Concat().label(concat=WideHeadRows),
        W_O=nn.Linear(24, 12),
    )


VARIANTS = [
    Variant(
        "OverlappedAttention", lambda: OverlappedAttention(12, 3, 1, bias=True), without_overlap
    ),
    Variant(
        "OverlappedAttention, whole heads",
        lambda: OverlappedAttention(12, 4, 2, d_head=2),
        without_overlap,
    ),
    Variant("MultiHeadAttention with OverlappedSplit", passed_stages, without_overlap),
]
