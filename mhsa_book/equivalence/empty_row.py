"""What each implementation answers for a query that may look at nothing: run here, not quoted.

The answer depends on the implementation, on the version of torch and on the path that torch
takes; only running it tells. The values are the identity, so that an output *is* its weights.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention as sdpa

from mhsa_lib import functional, masks


class Answer(NamedTuple):
    """How one implementation treats the empty row, and what this does to training."""

    implementation: str
    weights: str
    """zeros, NaN, equal (every key gets 1/n, the forbidden ones too), or other"""
    gradient: str
    """finite, or NaN: of keys and values, from a loss that leaves the empty row out"""


def ours(q: Tensor, k: Tensor, v: Tensor, may_look: Tensor) -> Tensor:
    """Look at the softmax of this book: the empty row is set aside before it."""
    return functional.mix(functional.softmax(_scores(q, k)[None], may_look[None]), v[None])[0]


def minus_infinity(q: Tensor, k: Tensor, v: Tensor, may_look: Tensor) -> Tensor:
    """Forbid with -inf and leave the rest to softmax."""
    return torch.softmax(_scores(q, k).masked_fill(~may_look, float("-inf")), dim=-1) @ v


def minus_a_billion(q: Tensor, k: Tensor, v: Tensor, may_look: Tensor) -> Tensor:
    """Forbid with a large finite number."""
    return torch.softmax(_scores(q, k).masked_fill(~may_look, -1e9), dim=-1) @ v


def sdpa_boolean(q: Tensor, k: Tensor, v: Tensor, may_look: Tensor) -> Tensor:
    """Hand torch's function a boolean mask."""
    return sdpa(q[None, None], k[None, None], v[None, None], attn_mask=may_look)[0, 0]


def sdpa_additive(q: Tensor, k: Tensor, v: Tensor, may_look: Tensor) -> Tensor:
    """Hand torch's function a mask of 0 and -inf."""
    return sdpa(q[None, None], k[None, None], v[None, None], attn_mask=_added(may_look))[0, 0]


def module_with_weights(q: Tensor, k: Tensor, v: Tensor, may_look: Tensor) -> Tensor:
    """Ask torch's module for its weights as well: it then does the softmax itself."""
    return _module(q)(q[None], k[None], v[None], attn_mask=~may_look)[0][0]


def module_without_weights(q: Tensor, k: Tensor, v: Tensor, may_look: Tensor) -> Tensor:
    """Ask torch's module for the output only: it may then take the path of SDPA."""
    qkv = q[None], k[None], v[None]
    return _module(q)(*qkv, attn_mask=~may_look, need_weights=False)[0][0]


IMPLEMENTATIONS: dict[str, Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]] = {
    "this book": ours,
    "softmax after −inf": minus_infinity,
    "softmax after −1e9": minus_a_billion,
    "SDPA, boolean mask": sdpa_boolean,
    "SDPA, mask of 0 and −inf": sdpa_additive,
    "nn.MultiheadAttention": module_with_weights,
    "nn.MultiheadAttention, need_weights=False": module_without_weights,
}


def answers(n: int = 6) -> list[Answer]:
    """Let every implementation attend with n tokens, the first of which may look at nothing.

    >>> answers()[0]
    Answer(implementation='this book', weights='zeros', gradient='finite')
    """
    numbers = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, n, n, generator=numbers)
    may_look = torch.ones(n, n, dtype=torch.bool)
    may_look[0] = False
    found = []
    for name, attend in IMPLEMENTATIONS.items():
        k_leaf, v_leaf = k.clone().requires_grad_(), torch.eye(n).requires_grad_()
        weights = attend(q, k_leaf, v_leaf, may_look)
        gradients = torch.autograd.grad(weights[1:].square().sum(), (k_leaf, v_leaf))
        finite = all(gradient.isfinite().all() for gradient in gradients)
        found.append(Answer(name, _in_a_word(weights[0]), "finite" if finite else "NaN"))
    return found


def _in_a_word(row: Tensor) -> str:
    if row.isnan().any():
        return "NaN"
    if not row.any():
        return "zeros"
    return "equal" if torch.allclose(row, torch.full_like(row, 1 / len(row))) else "other"


def _scores(q: Tensor, k: Tensor) -> Tensor:
    return functional.score(q[None], k[None], scale=q.shape[-1] ** -0.5)[0]


def _added(may_look: Tensor) -> Tensor:
    return masks.to_additive(may_look, torch.float32)


def _module(q: Tensor) -> nn.MultiheadAttention:
    """Torch's module with one head and identities for weights: q, k and v pass as they are."""
    width = q.shape[-1]
    module = nn.MultiheadAttention(width, 1, bias=False, batch_first=True)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.eye(width).repeat(3, 1))
        module.out_proj.weight.copy_(torch.eye(width))
    return module
