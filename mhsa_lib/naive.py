"""The definition with explicit loops: slow on purpose, and the tests' oracle.

No broadcasting, no matrix product, no softmax of a library: numbers are multiplied and added
one at a time, so that nothing can hide. ``ListOfHeads`` is the other plain reading of the
paper: 3h physically separate small matrices.

Source: Vaswani et al., section 3.2, arXiv 1706.03762.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn


def attend(
    q: list[list[float]],
    k: list[list[float]],
    v: list[list[float]],
    may_look: list[list[bool]],
    scale: float,
) -> tuple[list[list[float]], list[list[float]]]:
    """One head: weights (query, key) and z (query, d_head), as lists of numbers.

    >>> attend([[1.0]], [[0.0], [0.0]], [[2.0], [4.0]], [[True, True]], scale=1.0)
    ([[0.5, 0.5]], [[3.0]])
    """
    weights, z = [], []
    for i, query in enumerate(q):
        powers = []
        for j, key in enumerate(k):
            score = scale * sum(a * b for a, b in zip(query, key, strict=True))
            powers.append(math.exp(score) if may_look[i][j] else 0.0)
        total = sum(powers)
        weights.append([power / total if total else 0.0 for power in powers])
        z.append(
            [
                sum((w * value[c] for w, value in zip(weights[i], v, strict=True)), 0.0)
                for c in range(len(v[0]) if v else len(query))
            ]
        )
    return weights, z


def project(rows: list[list[float]], W: nn.Linear) -> list[list[float]]:
    """x W + b for every row, one output number at a time."""
    columns = W.weight.tolist()
    bias = [0.0] * len(columns) if W.bias is None else W.bias.tolist()
    return [
        [
            sum(a * w for a, w in zip(row, column, strict=True)) + b
            for column, b in zip(columns, bias, strict=True)
        ]
        for row in rows
    ]


def loops(
    attention: Any, x: Tensor, context: Tensor | None = None, mask: Tensor | None = None
) -> Tensor:
    """``attention(x, context, mask)`` by the definition, in Python numbers.

    Parameters are read from ``attention`` (a ``MultiHeadAttention``). ``mask`` is a boolean
    tensor (a predicate's ``dense``). One leading batch axis or none; use small sizes. The scale
    is the definition's 1/√d_head, whatever ``attention`` uses.

    >>> from mhsa_lib import MultiHeadAttention
    >>> mha, x = MultiHeadAttention(4, 2).double(), torch.randn(3, 4).double()
    >>> torch.allclose(loops(mha, x), mha(x))
    True
    """
    context = x if context is None else context
    if x.ndim == 2:
        return loops(attention, x[None], context[None], mask)[0]
    n_heads = attention.n_heads
    shape = (len(x), n_heads, x.shape[1], context.shape[1])
    allowed = torch.ones(shape) if mask is None else mask.expand(shape)
    y = []
    for item in range(len(x)):
        q = project(x[item].tolist(), attention.project.W_Q)
        k = project(context[item].tolist(), attention.project.W_K)
        v = project(context[item].tolist(), attention.project.W_V)
        rows: list[list[float]] = [[] for _ in q]
        for head in range(n_heads):
            own = slice(head * attention.d_head, (head + 1) * attention.d_head)
            _, z = attend(
                [row[own] for row in q],
                [row[own] for row in k],
                [row[own] for row in v],
                allowed[item, head].bool().tolist(),
                attention.d_head**-0.5,
            )
            rows = [row + more for row, more in zip(rows, z, strict=True)]
        y.append(project(rows, attention.W_O))
    return torch.tensor(y, dtype=x.dtype).reshape(*x.shape[:2], attention.d_model)


class Head(nn.Module):
    """One head with its own three small matrices, d_model × d_head each."""

    def __init__(self, attention: Any, head: int) -> None:
        super().__init__()
        self.W_Q = _columns(attention.project.W_Q, head, attention.d_head)
        self.W_K = _columns(attention.project.W_K, head, attention.d_head)
        self.W_V = _columns(attention.project.W_V, head, attention.d_head)
        self.scale = attention.d_head**-0.5

    def forward(self, x: Tensor, context: Tensor, mask: Tensor | None = None) -> Tensor:
        scores = self.W_Q(x) @ self.W_K(context).mT * self.scale
        if mask is None:
            return torch.softmax(scores, dim=-1) @ self.W_V(context)
        alive = mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~mask & alive, float("-inf"))
        return torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0) @ self.W_V(context)


class ListOfHeads(nn.Module):
    """Multi-head attention with 3h physically separate matrices and one W_O.

    Built from the weights of a ``MultiHeadAttention``: same parameters, same function.
    ``mask`` is a boolean tensor, (…, query, key) or with a head axis before them.

    >>> from mhsa_lib import MultiHeadAttention
    >>> mha, x = MultiHeadAttention(12, 3), torch.randn(2, 6, 12)
    >>> torch.allclose(ListOfHeads(mha)(x), mha(x), atol=1e-6)
    True
    """

    def __init__(self, attention: Any) -> None:
        super().__init__()
        self.heads = nn.ModuleList(Head(attention, head) for head in range(attention.n_heads))
        self.W_O = _copy(attention.W_O, attention.W_O.weight, attention.W_O.bias)

    def forward(
        self, x: Tensor, context: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        context = x if context is None else context
        if mask is not None:
            shape = (*x.shape[:-2], len(self.heads), x.shape[-2], context.shape[-2])
            mask = mask.expand(shape)
        z = [
            head(x, context, None if mask is None else mask[..., i, :, :])
            for i, head in enumerate(self.heads)
        ]
        return self.W_O(torch.cat(z, dim=-1))


def _columns(W: nn.Linear, head: int, d_head: int) -> nn.Linear:
    own = slice(head * d_head, (head + 1) * d_head)
    return _copy(W, W.weight[own], None if W.bias is None else W.bias[own])


def _copy(like: nn.Linear, weight: Tensor, bias: Tensor | None) -> nn.Linear:
    small = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None).to(like.weight)
    small.weight.data.copy_(weight)
    if bias is not None:
        small.bias.data.copy_(bias)
    return small
