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

from mhsa_lib import copying, masks
from mhsa_lib.attention import MultiHeadAttention


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
        scores = [
            scale * sum(a * b for a, b in zip(query, key, strict=True))
            for j, key in enumerate(k)
            if may_look[i][j]
        ]
        # Less the largest: no power is too large for a number, and one of them is 1.
        seen = iter([math.exp(score - max(scores)) for score in scores])
        powers = [next(seen) if allowed else 0.0 for allowed in may_look[i][: len(k)]]
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


def loops(attention: Any, x: Tensor, context: Tensor | None = None, mask: Any = None) -> Tensor:
    """``attention(x, context, mask)`` by the definition, in Python numbers.

    Parameters are read from ``attention``, a ``MultiHeadAttention`` of standard stages. One
    leading batch axis or none; use small sizes. The scale is the definition's 1/√d_head.
    Raises ``TypeError`` or ``ValueError`` for an attention that computes anything else: other
    stages, another scale, dropout in training.

    >>> from mhsa_lib import MultiHeadAttention
    >>> mha, x = MultiHeadAttention(4, 2).double(), torch.randn(3, 4).double()
    >>> torch.allclose(loops(mha, x), mha(x))
    True
    """
    is_the_definition(attention)
    _drops_nothing(attention)
    context = x if context is None else context
    if x.ndim not in (2, 3):
        raise ValueError(f"x has shape {tuple(x.shape)}; loops takes one batch axis or none.")
    if x.ndim == 2:
        return loops(attention, x[None], context[None], mask)[0]
    n_heads = attention.n_heads
    shape = (len(x), n_heads, x.shape[1], context.shape[1])
    mask = masks.resolve(mask, shape, x.device)
    allowed = torch.ones(shape, dtype=torch.bool) if mask is None else mask.expand(shape)
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
                allowed[item, head].tolist(),
                attention.d_head**-0.5,
            )
            rows = [row + more for row, more in zip(rows, z, strict=True)]
        y.append(project(rows, attention.W_O))
    return torch.tensor(y, dtype=x.dtype).reshape(*x.shape[:2], attention.d_model)


class Head(nn.Module):
    """One head with its own three small matrices, d_model × d_head each."""

    def __init__(self, attention: MultiHeadAttention, head: int) -> None:
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

    Built from the weights of a ``MultiHeadAttention``: same parameters, same function. Refuses
    what ``loops`` refuses.

    >>> from mhsa_lib import MultiHeadAttention
    >>> mha, x = MultiHeadAttention(12, 3), torch.randn(2, 6, 12)
    >>> torch.allclose(ListOfHeads(mha)(x), mha(x), atol=1e-6)
    True
    """

    def __init__(self, attention: Any) -> None:
        super().__init__()
        is_the_definition(attention)
        _drops_nothing(attention)
        self.heads = nn.ModuleList(Head(attention, head) for head in range(attention.n_heads))
        self.W_O = _copy(attention.W_O, attention.W_O.weight, attention.W_O.bias)

    def forward(self, x: Tensor, context: Tensor | None = None, mask: Any = None) -> Tensor:
        context = x if context is None else context
        shape = (*x.shape[:-2], len(self.heads), x.shape[-2], context.shape[-2])
        mask = masks.resolve(mask, shape, x.device)
        mask = None if mask is None else mask.expand(shape)
        z = [
            head(x, context, None if mask is None else mask[..., i, :, :])
            for i, head in enumerate(self.heads)
        ]
        return self.W_O(torch.cat(z, dim=-1))


def is_the_definition(attention: Any) -> None:
    """Refuse what the definition does not describe: other stages, another scale.

    >>> from mhsa_lib import MultiHeadAttention
    >>> mha = MultiHeadAttention(12, 3)
    >>> mha.attend.scale = 1.0
    >>> is_the_definition(mha)
    Traceback (most recent call last):
    ...
    ValueError: scale=1 is not in the definition that the loops compute: 1/√d_head is 0.5 ...
    """
    why = "is not in the definition that the loops compute"
    copying.check_stages(attention, why, "use the standard part", copying.UNSHARED)
    scale = attention.attend.scale
    if scale != attention.d_head**-0.5:
        raise ValueError(
            f"scale={scale:.4g} {why}: 1/√d_head is {attention.d_head**-0.5:.4g} for "
            f"d_head={attention.d_head}; set attend.scale to that."
        )


def _drops_nothing(attention: MultiHeadAttention) -> None:
    dropout = attention.attend.dropout
    if dropout.p and dropout.training:
        raise ValueError(
            f"dropout={dropout.p} is not in the definition that the loops compute; call eval() "
            f"on the attention."
        )


def _columns(W: nn.Linear, head: int, d_head: int) -> nn.Linear:
    own = slice(head * d_head, (head + 1) * d_head)
    return _copy(W, W.weight[own], None if W.bias is None else W.bias[own])


def _copy(like: nn.Linear, weight: Tensor, bias: Tensor | None) -> nn.Linear:
    small = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None).to(like.weight)
    small.weight.data.copy_(weight)
    if bias is not None:
        small.bias.data.copy_(bias)
    return small
