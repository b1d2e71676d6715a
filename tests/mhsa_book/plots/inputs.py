"""What is drawn: some tokens, and the wires of a small pass."""

import torch

from mhsa_lib import MultiHeadAttention, masks, trace

TOKENS = ["I", "saw", "it"]


def traced(n_query=6, d_model=12, n_heads=3, device=None, bias=False, batch=()):
    mha = MultiHeadAttention(d_model, n_heads, bias=bias).to(device)
    with torch.no_grad(), trace(mha) as wires:
        mha(torch.randn(*batch, n_query, d_model, device=device), mask=masks.causal)
    return mha, wires
