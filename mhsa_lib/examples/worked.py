"""The running sentence of the book, and the worked example that can be redone by hand."""

import torch
from torch import Tensor

from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.trace.wires import Wires, trace

SENTENCE = ("The", "cat", "sat", "on", "the", "mat")


def sentence(d_model: int = 12) -> Tensor:
    """Vectors of the running sentence, (6, d_model), drawn once and rounded to one decimal.

    They are not embeddings of a trained model: every token has its own numbers, so that each
    can be recognised wherever it turns up.

    >>> sentence().shape
    torch.Size([6, 12])
    """
    return _rounded(len(SENTENCE), d_model, seed=0)


def attention(d_model: int = 12, n_heads: int = 3, *, bias: bool = False) -> MultiHeadAttention:
    """The running attention: small, seeded, weights rounded to one decimal.

    >>> attention().n_heads
    3
    """
    mha = MultiHeadAttention(d_model, n_heads, bias=bias)
    with torch.no_grad():
        for seed, parameter in enumerate(mha.parameters(), start=1):
            parameter.copy_(_rounded(*parameter.shape, seed=seed) / 2)
    return mha.eval()


def running() -> Wires:
    """All wires of the running attention on the running sentence.

    >>> running()["weights"].shape
    torch.Size([3, 6, 6])
    """
    mha = attention()
    with torch.no_grad(), trace(mha) as wires:
        mha(sentence())
    return wires


def worked() -> tuple[Tensor, MultiHeadAttention]:
    """Two tokens of width 4 and two heads of width 2: small enough for pencil and paper.

    W_Q and W_O come from a widely copied worked example whose printed Q is wrong in all eight
    entries; W_K and W_V pick columns of x: head 1 has keys (1, 2) and values (1, 3), head 2
    keys (3, 4) and values (2, 4).

    >>> x, mha = worked()
    >>> (x @ mha.project.W_Q.weight.T).round(decimals=2).tolist()[0]
    [0.0, 1.45, 2.05, -0.5]
    """
    x = torch.tensor([[1.0, 0.5, -1.0, 2.0], [-0.5, 1.0, 0.3, -2.0]], dtype=torch.float64)
    pick = torch.eye(4, dtype=torch.float64)
    W_Q = [
        [0.1, 0.4, -0.3, 0.2],
        [-0.2, 0.3, 1.1, 0.6],
        [1.0, -0.5, -0.4, 0.8],
        [0.5, 0.2, 0.7, -0.1],
    ]
    W_O = [
        [0.5, -0.2, 1.1, 0.3],
        [0.1, 0.8, -0.4, 0.6],
        [-0.3, 0.7, 0.2, 1.0],
        [0.9, -0.5, 0.3, -0.8],
    ]
    mha = MultiHeadAttention(4, 2).double()
    with torch.no_grad():
        mha.project.W_Q.weight.copy_(torch.tensor(W_Q, dtype=torch.float64).T)
        mha.project.W_K.weight.copy_(pick)
        mha.project.W_V.weight.copy_(pick[[0, 2, 1, 3]])
        mha.W_O.weight.copy_(torch.tensor(W_O, dtype=torch.float64).T)
    return x, mha.eval()


def _rounded(*shape: int, seed: int) -> Tensor:
    numbers = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    return numbers.mul(10).round().div(10)
