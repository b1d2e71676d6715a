"""How far rounding can carry a result, number by number: derived, not tuned.

A sum of n rounded products walks: its error grows like √n times eps times the sum of the
absolute values (Higham and Mary, SIAM J. Sci. Comput. 41, 2019). The pass is computed once more
with absolute values everywhere, which gives that sum for every number; errors of earlier steps
are carried along through the derivative of each step. ``WALKS`` standard deviations are
allowed, and what the dtype cannot hold (its smallest normal number) once per term.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import torch
from torch import Tensor

from tests.mhsa_lib.attack import oracle

WALKS = 8.0


@dataclass
class Bounds:
    """Allowed errors of y and, if asked for, of the gradients of x, context and weights."""

    y: Tensor
    gradients: dict[str, Tensor]


def bounds(
    x: Tensor,
    context: Tensor,
    allowed: Tensor,
    W: dict[str, Tensor],
    n_heads: int,
    n_kv_heads: int,
    scale: float,
    dtype: torch.dtype,
    grad: Tensor | None = None,
) -> Bounds:
    """Everything in float64; ``grad`` is the gradient of y, None where none is wanted."""
    info, seen = torch.finfo(dtype), {}
    eps = WALKS * info.eps

    def keep(name: str, value: Tensor) -> Tensor:
        seen[name] = value
        return value

    oracle.whole(x, context, allowed, W, n_heads, n_kv_heads, scale, keep)
    A = {name: value.abs() for name, value in W.items()}
    group, d_head = n_heads // n_kv_heads, W["Q"].shape[0] // n_heads
    q, k, v = (
        oracle.heads_of(oracle.linear(rows.abs(), A[name], A.get(f"b{name}")), n)
        for rows, name, n in (
            (x, "Q", n_heads),
            (context, "K", n_kv_heads),
            (context, "V", n_kv_heads),
        )
    )
    k, v = k.repeat_interleave(group, dim=-3), v.repeat_interleave(group, dim=-3)
    n_key, d_model = k.shape[-2], x.shape[-1]
    made = 1 + sqrt(d_model)  # one projection, and its rounding to dtype
    on_scores = eps * (2 * made + sqrt(d_head)) * abs(scale) * (q @ k.mT)
    on_scores = on_scores.masked_fill(~allowed.expand(on_scores.shape), 0.0)
    none = on_scores.new_zeros(*on_scores.shape[:-1], 1)
    worst = on_scores.amax(dim=-1, keepdim=True) if n_key else none
    w = seen["weights"]
    on_w = (w * torch.expm1((2 * worst).clamp(max=700)) + eps * sqrt(1 + n_key) * w).clamp(
        max=1
    )
    on_z = on_w @ v + eps * (made + sqrt(1 + n_key)) * (w @ v)
    rows = [z.transpose(-3, -2).flatten(-2) for z in (on_z, w @ v)]
    y = oracle.linear(rows[1], A["O"], A.get("bO"))
    n_rows = rows[1].shape[-1]
    on_y = rows[0] @ A["O"].T + eps * (1 + sqrt(n_rows)) * y
    tiny = WALKS * info.tiny * (1 + d_model + n_key + n_rows)
    gradients: dict[str, Any] = {}
    if grad is not None:
        relative = eps * (2 * made + sqrt(n_rows) + 2 * sqrt(1 + n_key) + 2 * sqrt(d_head))
        relative += eps * sqrt(1 + x[..., 0].numel() + context[..., 0].numel())
        sharper = relative + 2 * torch.expm1((2 * worst).clamp(max=700))
        gradients = _gradients(x, context, A, w, (q, k, v), abs(scale), grad.abs(), sharper)
        gradients = {name: value + tiny for name, value in gradients.items()}
    return Bounds(on_y + tiny, gradients)


def _gradients(x, context, A, w, heads, scale, grad, relative):
    """The backward pass in absolute values; ``relative`` is the error of each query's part."""
    q, k, v = heads
    n_kv_heads = A["K"].shape[0] * q.shape[-3] // A["Q"].shape[0]
    n_heads, rows = q.shape[-3], (lambda t: t.transpose(-3, -2).flatten(-2))
    dz = oracle.heads_of(grad @ A["O"], n_heads)
    dw = dz @ v.mT
    ds = w * (dw + (w * dw).sum(dim=-1, keepdim=True)) * relative
    dv = (w * relative).mT @ dz
    dq, dk = scale * (ds @ k), scale * (ds.mT @ q)

    def shared(t):
        return t.unflatten(-3, (n_kv_heads, -1)).sum(dim=-3)

    dq, dk, dv = rows(dq), rows(shared(dk)), rows(shared(dv))
    worst = relative.amax() if relative.numel() else torch.zeros((), dtype=w.dtype)
    concat = rows(w @ v)

    def on_weight(d, of):
        return d.flatten(end_dim=-2).T @ of.abs().flatten(end_dim=-2)

    found = {
        "x": dq @ A["Q"],
        "context": dk @ A["K"] + dv @ A["V"],
        "Q": on_weight(dq, x),
        "K": on_weight(dk, context),
        "V": on_weight(dv, context),
        "O": worst * on_weight(grad, concat),
    }
    sums = {"bQ": dq, "bK": dk, "bV": dv, "bO": worst * grad}
    return found | {
        name: d.flatten(end_dim=-2).sum(dim=0) for name, d in sums.items() if name in A
    }
