"""Numbers that mean nothing: for puzzles about addresses, where each has to be told apart."""

import torch
from torch import Tensor

from mhsa_lib.attention import MultiHeadAttention

SIX_WORDS = ("The", "cat", "sat", "on", "the", "mat")
"""Labels for the six tokens; their numbers know nothing of these words."""


def random_tokens(d_model: int = 12) -> Tensor:
    """Six tokens, (6, d_model), drawn once and rounded to one decimal.

    >>> random_tokens().shape
    torch.Size([6, 12])
    """
    return _rounded(6, d_model, seed=0)


def random_attention(
    d_model: int = 12, n_heads: int = 3, *, bias: bool = False
) -> MultiHeadAttention:
    """A small attention, drawn once: weights rounded to one decimal, then halved.

    >>> random_attention().n_heads
    3
    """
    mha = MultiHeadAttention(d_model, n_heads, bias=bias)
    with torch.no_grad():
        for seed, parameter in enumerate(mha.parameters(), start=1):
            parameter.copy_(_rounded(*parameter.shape, seed=seed) / 2)
    return mha.eval()


def _rounded(*shape: int, seed: int) -> Tensor:
    numbers = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    return numbers.mul(10).round().div(10)
