"""Keys and values from one latent, made for every head or absorbed."""

import torch
from torch import nn

from mhsa_book.conversions.to_absorbed import AbsorbedLatentAttention
from mhsa_lib import MultiHeadAttention
from mhsa_lib.variants import LatentAttention
from tests.mhsa_lib.variants.entry import Variant


def uncompressed(attention: MultiHeadAttention) -> LatentAttention:
    """No rotary columns, no norm, and a latent that is the token itself."""
    d_model, bias = attention.d_model, attention.W_O.bias is not None
    latent = LatentAttention(
        d_model, attention.n_heads, d_model, 0, bias=bias, norm=nn.Identity
    ).double()
    plain, project, split = attention.project, latent.project, latent.split
    project.W_Q.load_state_dict(plain.W_Q.state_dict())
    latent.W_O.load_state_dict(attention.W_O.state_dict())
    with torch.no_grad():
        project.W_DKV.weight.copy_(torch.eye(d_model))
        split.W_UK.weight.copy_(plain.W_K.weight)
        split.W_UV.weight.copy_(plain.W_V.weight)
        if bias:
            project.W_DKV.bias.copy_(torch.linalg.solve(plain.W_V.weight, plain.W_V.bias))
    return latent


def absorbed(*sizes: int, **options) -> AbsorbedLatentAttention:
    return AbsorbedLatentAttention(LatentAttention(*sizes, **options))


VARIANTS = [
    Variant(
        "LatentAttention",
        lambda: LatentAttention(12, 3, 5, 2, d_q_latent=7),
        uncompressed,
        positional=True,
    ),
    Variant(
        "LatentAttention with direct queries, biases, other widths",
        lambda: LatentAttention(12, 3, 5, 2, d_head=3, d_nope=6, bias=True),
        uncompressed,
        positional=True,
    ),
    Variant(
        "AbsorbedLatentAttention",
        lambda: absorbed(12, 3, 5, 2, d_q_latent=7, bias=True, d_nope=3),
        lambda attention: AbsorbedLatentAttention(uncompressed(attention)),
        positional=True,
    ),
]
