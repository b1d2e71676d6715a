"""Attentions whose heads ranks share, drawn alike in every process."""

import torch

from mhsa_lib import FusedMultiHeadAttention, LatentAttention, MultiHeadAttention, rope
from mhsa_lib.variants import GroupedQueryAttention

KINDS = {
    "mha": lambda: MultiHeadAttention(12, 4, bias=True),
    "wide heads": lambda: MultiHeadAttention(12, 4, d_head=5),
    "gqa": lambda: GroupedQueryAttention(12, 4, 2, bias=True),
    "rotary": lambda: GroupedQueryAttention(12, 4, 2, d_head=6, split=turned()),
    "fused": lambda: fused(MultiHeadAttention(12, 4, bias=True)),
    "fused gqa": lambda: fused(GroupedQueryAttention(12, 4, 2, bias=True)),
}
CROSSED = {
    **KINDS,
    "another context": lambda: GroupedQueryAttention(12, 4, 2, d_context=7, bias=True),
    "fused, another context": lambda: fused(CROSSED["another context"]()),
}
LATENT = {
    "latent": lambda: LatentAttention(12, 4, d_latent=4, d_rope=2, bias=True),
    "latent queries": lambda: LatentAttention(12, 4, d_latent=4, d_rope=2, d_q_latent=6),
    "latent, no position": lambda: LatentAttention(12, 4, d_latent=4, d_rope=0),
}
BY_TOKENS = "mha", "wide heads", "gqa"
"""What ranks can share by tokens, too."""
fused = FusedMultiHeadAttention.from_attention


def turned():
    return rope.RotarySplit(4, rope.Rotary(6), 2)


def drawn(kind, dtype=torch.float64, seed=0):
    torch.manual_seed(seed)
    attention = (CROSSED | LATENT)[kind]().to(dtype)
    for parameter in attention.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return attention, torch.randn(2, 6, 12, dtype=dtype)
