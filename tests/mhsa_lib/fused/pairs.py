"""The fused module and its five stages with the same weights, and what goes through both."""

import torch
from hypothesis import strategies as st
from torch import nn

from mhsa_lib import FusedMultiHeadAttention, masks
from mhsa_lib.variants import GroupedQueryAttention
from tests.helpers.drawn import filled

LENGTHS = [0, 1, 5, 255, 256, 257]
GROUPS = st.sampled_from([(1, 1), (2, 1), (4, 2), (6, 3), (6, 1)])


def both(**options):
    """The fused module and the five stages with the same weights."""
    torch.manual_seed(0)
    fused = filled(FusedMultiHeadAttention(12, 3, bias=True, **options), std=0.3)
    return fused, fused.to_attention()


def same(found, wanted):
    """Within a small part of the largest number."""
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one.shape == other.shape
        if other.numel():
            assert (one - other).abs().max() <= 2e-5 * other.abs().max().clamp(min=1.0)


def rows(n):
    torch.manual_seed(n)
    return torch.randn(2, n, 12), torch.randn(2, n, 12)


def passes(a, n):
    """Self-attention under three masks, and cross-attention."""
    torch.manual_seed(n)
    x, context = torch.randn(2, n, 12), torch.randn(2, 7, a.d_context)
    given = [None, masks.causal, masks.padding([n, n // 2])] if a.d_context == 12 else []
    return [a(x, mask=mask) for mask in given] + [a(x, context)]


def fuse(attention):
    return FusedMultiHeadAttention.from_attention(attention)


def grouped(n_heads=6, n_kv_heads=2, **options):
    attention = GroupedQueryAttention(12, n_heads, n_kv_heads, **options).double()
    for parameter in attention.parameters():
        nn.init.normal_(parameter, std=0.5)
    return attention
