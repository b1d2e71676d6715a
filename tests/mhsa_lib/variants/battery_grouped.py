"""Shared keys and values, with and without rotary positions."""

import torch

from mhsa_lib import MultiHeadAttention
from mhsa_lib.rope.rotary import Rotary, RotarySplit
from mhsa_lib.variants import GroupedQueryAttention, MultiQueryAttention
from tests.mhsa_lib.variants.entry import Variant


def ungrouped(attention: MultiHeadAttention) -> GroupedQueryAttention:
    grouped = GroupedQueryAttention(
        attention.d_model,
        attention.n_heads,
        attention.n_heads,
        bias=attention.W_O.bias is not None,
    ).double()
    grouped.load_state_dict(attention.state_dict())
    return grouped


def unturned(attention: MultiHeadAttention) -> MultiHeadAttention:
    """An endless wavelength: no position turns anything."""
    still = MultiHeadAttention(
        attention.d_model,
        attention.n_heads,
        bias=attention.W_O.bias is not None,
        split=RotarySplit(
            attention.n_heads, Rotary(attention.d_head, scaling=torch.zeros_like)
        ),
    ).double()
    still.load_state_dict(attention.state_dict())
    return still


VARIANTS = [
    Variant("GroupedQueryAttention", lambda: GroupedQueryAttention(12, 6, 3), ungrouped),
    Variant("MultiQueryAttention", lambda: MultiQueryAttention(12, 3, bias=True), ungrouped),
    Variant(
        "MultiHeadAttention with RotarySplit",
        lambda: MultiHeadAttention(12, 3, split=RotarySplit(3, Rotary(4))),
        unturned,
        positional=True,
    ),
    Variant(
        "GroupedQueryAttention with RotarySplit",
        lambda: GroupedQueryAttention(12, 6, 2, split=RotarySplit(6, Rotary(2), 2)),
        ungrouped,
        positional=True,
    ),
]
