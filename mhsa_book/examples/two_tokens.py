"""Two tokens and two heads, small enough for pencil and paper."""

import torch
from torch import Tensor

from mhsa_lib.attention import MultiHeadAttention


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
