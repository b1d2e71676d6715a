"""A trained layer as collaborative attention: one decomposition for all its heads.

What head i compares is the matrix P_i = W_Q^i W_K^iᵀ. ``decompose`` looks for shared W̃_Q, W̃_K
and one row m_i per head with P_i ≈ W̃_Q diag(m_i) W̃_Kᵀ: the CP decomposition (PARAFAC) of the
stack of the P_i, by alternating least squares. Each P_i has rank d_head, so the stack itself is
never needed, only its factors; this makes the steps cheap.

Source: Cordonnier, Loukas and Jaggi, section 4, arXiv 2006.16362; Harshman (1970).
"""

from dataclasses import dataclass
from math import ceil
from typing import Any

import torch
from einops import rearrange
from torch import Tensor

from mhsa_book.conversions.to_latent import check_one_width
from mhsa_lib import checks, copying
from mhsa_lib.variants.collaborative import CollaborativeAttention


@dataclass(frozen=True)
class Shared:
    """W̃_Q (d_model, d_shared), mixing (head, d_shared), W̃_K (d_model, d_shared), in float64.

    ``error`` is ‖P − P̃‖ / ‖P‖ over all heads; ``errors`` the same after every sweep.
    """

    W_Q: Tensor
    mixing: Tensor
    W_K: Tensor
    errors: tuple[float, ...]

    @property
    def error(self) -> float:
        """Share of the heads' matrices, by Frobenius norm, that is lost."""
        return self.errors[-1]

    def heads(self) -> Tensor:
        """The matrices of the heads that these factors give (head, d_model, d_model)."""
        return (self.W_Q * self.mixing[:, None]) @ self.W_K.mT


def comparisons(attention: Any) -> tuple[Tensor, Tensor]:
    """W_Q and W_K of every head (head, d_model, d_head), with P_i = W_Q^i W_K^iᵀ; in float64.

    Raises ``TypeError`` for an attention that does not compare as plain attention does, and
    ``ValueError`` for a stage that does not.
    """
    why, repair = (
        "is not decomposed",
        "pass the standard stages (of a fused one take to_attention())",
    )
    copying.check_stages(attention, why, repair, _KNOWN)
    check_one_width(attention, why, repair)
    per_head = {"pattern": "(head d_head) d_model -> head d_model d_head"}
    project, n_heads = attention.project, attention.n_heads
    W_Q, W_K = (
        rearrange(W.weight.detach().double(), **per_head, head=n_heads)
        for W in (project.W_Q, project.W_K)
    )
    return W_Q, W_K


def block_indicator(n_heads: int, d_shared: int) -> Tensor:
    """The mixing of plain attention: head i reads the i-th block of columns alone.

    Blocks are d_shared / n_heads wide, rounded up; the last head gets what is left.

    >>> block_indicator(3, 6).tolist()[1]
    [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]
    """
    checks.positive(n_heads=n_heads, d_shared=d_shared)
    block = torch.arange(d_shared) // ceil(d_shared / n_heads)
    return (block == torch.arange(n_heads)[:, None]).float()


def truncated(W_Q: Tensor, W_K: Tensor, d_shared: int) -> Shared:
    """The best without sharing: of all heads' singular values, the ``d_shared`` largest stay.

    Every shared column then belongs to one head, and the mixing holds ones and zeros.

    >>> W_Q, W_K = torch.randn(2, 3, 12, 4).double()
    >>> truncated(W_Q, W_K, 12).error < 1e-12 < truncated(W_Q, W_K, 11).error
    True
    """
    queries, keys = torch.linalg.qr(W_Q), torch.linalg.qr(W_K)
    left, values, right = torch.linalg.svd(queries.R @ keys.R.mT)
    checks.positive(d_shared=d_shared)
    if d_shared > values.numel():
        raise ValueError(
            f"d_shared={d_shared} is wider than all heads side by side; the decomposition is "
            f"exact at d_shared={values.numel()}, choose that or less."
        )
    kept = values.flatten().topk(d_shared).indices.sort().values
    head, column = kept // values.shape[-1], kept % values.shape[-1]
    root = values[head, column].sqrt()
    mixing = head == torch.arange(len(values), device=head.device)[:, None]
    factors = (
        (queries.Q @ left)[head, :, column].mT * root,
        mixing.to(W_Q),
        (keys.Q @ right.mT)[head, :, column].mT * root,
    )
    return Shared(*factors, (_error(W_Q, W_K, *factors),))


def decompose(
    W_Q: Tensor, W_K: Tensor, d_shared: int, *, n_sweeps: int = 50, tolerance: float = 1e-4
) -> Shared:
    """Shared factors of all heads by alternating least squares, from the best without sharing.

    A sweep solves for W̃_Q, W̃_K and the mixing in turn, the other two fixed, so the error never
    grows. Sweeps end when one gains less than ``tolerance`` of the error, or after
    ``n_sweeps``. What comes out is a local minimum: the best decomposition is hard to find.

    >>> W_Q, W_K = torch.randn(2, 3, 12, 4).double()
    >>> decompose(W_Q, W_K, 8).error < truncated(W_Q, W_K, 8).error
    True
    """
    start = truncated(W_Q, W_K, d_shared)
    q, mixing, k = start.W_Q, start.mixing, start.W_K
    errors = [start.error]
    gain = 1.0
    while errors[-1] > 1e-9 and len(errors) <= n_sweeps and gain > tolerance:
        seen = W_K.mT @ k  # (head, d_head, d_shared)
        q = _solved((W_Q @ seen * mixing[:, None]).sum(dim=0), k, mixing)
        seen = W_Q.mT @ q
        k = _solved((W_K @ seen * mixing[:, None]).sum(dim=0), q, mixing)
        mixing = _solved((seen * (W_K.mT @ k)).sum(dim=1), q, k)
        errors.append(_error(W_Q, W_K, q, mixing, k))
        gain = 1 - errors[-1] / errors[-2]
    return Shared(q, mixing, k, tuple(errors))


def to_collaborative(
    attention: Any, d_shared: int | None = None, **options: Any
) -> CollaborativeAttention:
    """A plain layer as collaborative attention; exact when ``d_shared`` is not given.

    Biases: W_Q's becomes the content scores, c_i = W_K^i b_Q^i; W_K's is dropped, which changes
    no weight; values and W_O are copied. The scale stays the old one, 1/√d_head, so that a
    smaller ``d_shared`` does not sharpen the weights (the released code divides by
    √(d_shared / n_heads) instead). What is made of W_Q and W_K learns if one of them does.
    ``options`` go to ``decompose``. Raises as ``comparisons`` does.

    >>> from mhsa_lib import MultiHeadAttention
    >>> mha, x = MultiHeadAttention(12, 3, bias=True).double(), torch.randn(5, 12).double()
    >>> torch.allclose(to_collaborative(mha)(x), mha(x))
    True
    """
    W_Q, W_K = comparisons(attention)
    project = attention.project
    width = attention.n_heads * min(attention.d_head, attention.d_model)
    found = decompose(W_Q, W_K, width if d_shared is None else d_shared, **options)
    shared = CollaborativeAttention(
        attention.d_model,
        attention.n_heads,
        found.mixing.shape[1],
        d_head=attention.d_head,
        mixing=found.mixing,
        scale=attention.attend.scale,
        dropout=attention.attend.dropout.p,
        concat=copying.copied(attention.concat),
        W_O=copying.copied(attention.W_O),
    ).to(project.W_Q.weight)
    shared.project.W_V = copying.copied(project.W_V)
    old = project.W_Q.bias
    asked = W_Q.new_zeros(W_Q[:, 0].shape) if old is None else old.detach().to(W_Q)
    content = torch.einsum("hmd,hd->hm", W_K, asked.view(W_K[:, 0].shape))
    with torch.no_grad():
        shared.project.W_Q.weight.copy_(found.W_Q.mT)
        shared.project.W_K.weight.copy_(found.W_K.mT)
        shared.content.W_C.weight.copy_(content)
    learns = any(W.weight.requires_grad for W in (project.W_Q, project.W_K))
    for module in (shared.project.W_Q, shared.project.W_K, shared.split, shared.content):
        module.requires_grad_(learns)
    return shared.train(attention.training)


_KNOWN: copying.Classes = copying.UNSHARED | {"project.W_V": (), "concat": (), "W_O": ()}
"""Values and what follows them are kept as they are."""


def _solved(products: Tensor, one: Tensor, other: Tensor) -> Tensor:
    """The factor that fits best, the other two fixed: the normal equations of least squares.

    The ridge, far below the data, keeps them solvable when two shared columns are alike.
    """
    gram = (one.mT @ one) * (other.mT @ other)
    ridge = (
        1e-12
        * gram.diagonal().mean()
        * torch.eye(len(gram), device=gram.device, dtype=gram.dtype)
    )
    return torch.linalg.solve(gram + ridge, products.mT).mT


def _error(W_Q: Tensor, W_K: Tensor, q: Tensor, mixing: Tensor, k: Tensor) -> float:
    whole = W_Q @ W_K.mT
    return float((whole - (q * mixing[:, None]) @ k.mT).norm() / whole.norm())
