"""The heads of a map one by one, with their biases, and back into the map."""

import torch
from einops import rearrange
from torch import Tensor, nn


def by_head(W: nn.Linear, d_head: int) -> Tensor:
    """Rows of W by head, the bias as a last column: (head, d_head, column).

    >>> by_head(nn.Linear(5, 6), 3).shape
    torch.Size([2, 3, 6])
    """
    rows = W.weight.data
    if W.bias is not None:
        rows = torch.cat([rows, W.bias.data[:, None]], dim=1)
    return rearrange(rows, "(head d_head) column -> head d_head column", d_head=d_head)


def write(W: nn.Linear, heads: Tensor) -> None:
    """The inverse of ``by_head``: into the weight, and the bias if there is one.

    >>> W, heads = nn.Linear(5, 6), torch.randn(2, 3, 6)
    >>> write(W, heads)
    >>> torch.equal(by_head(W, 3), heads)
    True
    """
    rows = rearrange(heads, "head d_head column -> (head d_head) column")
    with torch.no_grad():
        W.weight.copy_(rows[:, : W.in_features])
        if W.bias is not None:
            W.bias.copy_(rows[:, -1])
