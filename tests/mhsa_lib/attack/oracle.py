"""The definition, in float64 and plain torch: what every implementation has to equal.

Nothing of the library is used here. ``tap`` may replace a value on its way, by name.
"""

import torch
from torch import Tensor


def untouched(name: str, value: Tensor) -> Tensor:
    return value


def linear(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    product = rows @ weight.transpose(0, 1)
    return product if bias is None else product + bias


def heads_of(rows: Tensor, n_heads: int) -> Tensor:
    *batch, n, width = rows.shape
    return rows.reshape(*batch, n, n_heads, width // n_heads).transpose(-3, -2)


def weigh(scores: Tensor, allowed: Tensor) -> Tensor:
    """Softmax over what is allowed, the maximum subtracted; zeros where nothing is."""
    low = torch.full_like(scores, -torch.inf)
    scores = torch.where(allowed, scores, low)
    if not scores.shape[-1]:
        return scores
    top = scores.detach().amax(dim=-1, keepdim=True)
    powers = (scores - torch.where(top.isfinite(), top, torch.zeros_like(top))).exp()
    total = powers.sum(dim=-1, keepdim=True)
    return powers / torch.where(total > 0, total, torch.ones_like(total))


def attend(q, k, v, allowed, scale, tap=untouched):
    """z of (…, head, query, d_head); keys and values may have fewer heads."""
    group = q.shape[-3] // k.shape[-3]
    k, v = k.repeat_interleave(group, dim=-3), v.repeat_interleave(group, dim=-3)
    scores = tap("scores", scale * (q @ k.transpose(-1, -2)))
    # A forbidden value times zero is nothing, whatever the value was.
    weights = tap("weights", weigh(scores, allowed.expand(scores.shape)))
    return tap("z", weights @ v)


def whole(x, context, allowed, W, n_heads, n_kv_heads, scale, tap=untouched):
    """y of multi-head attention; ``W`` holds weights Q, K, V, O and biases bQ, bK, bV, bO."""
    q = tap("q", linear(x, W["Q"], W.get("bQ")))
    k = tap("k", linear(context, W["K"], W.get("bK")))
    v = tap("v", linear(context, W["V"], W.get("bV")))
    q = tap("q_heads", heads_of(q, n_heads))
    k = tap("k_heads", heads_of(k, n_kv_heads))
    v = tap("v_heads", heads_of(v, n_kv_heads))
    z = attend(q, k, v, allowed, scale, tap)
    concat = tap("concat", z.transpose(-3, -2).flatten(-2))
    return tap("y", linear(concat, W["O"], W.get("bO")))
