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


def random_heads(d_head: int, n: int = 64) -> tuple[Tensor, Tensor]:
    """Queries and keys as before training, (n, d_head) each: mean 0, standard deviation 1.

    >>> q, k = random_heads(1024)
    >>> q.shape, round((q @ k.mT).std().item())
    (torch.Size([64, 1024]), 32)
    """
    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, n, d_head, generator=generator, device=generator.device)
    device = torch.get_default_device()
    return q.to(device), k.to(device)


def _rounded(*shape: int, seed: int) -> Tensor:
    numbers = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    return numbers.mul(10).round().div(10)
