"""Heads of keys and values rotated towards each other, the function unchanged: before merging.

A head computes the same if its W_Q and W_K are rotated by one orthogonal matrix, or if its W_V
is rotated and its part of W_O rotated back: only the products of the two count. (Any invertible
matrix would do, with its inverse for the partner.) So equal heads may have very different
numbers, and a mean of numbers is not a mean of heads.

Source: Elhage et al., "A Mathematical Framework for Transformer Circuits", 2021; Jin et al.,
"Align Attention Heads Before Merging Them", arXiv 2412.20677.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from mhsa_book.conversions.grouping import by_head, key_heads
from mhsa_book.conversions.merging import write
from mhsa_lib import checks, copying
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.rope.rotary import Pairing, RotarySplit
from mhsa_lib.stages import Split

Turn = Callable[[Tensor, Tensor], Tensor]
"""(heads, target) to the matrices that turn the heads towards the target."""


def aligned(
    attention: MultiHeadAttention, n_kv_heads: int, n_rounds: int = 10
) -> MultiHeadAttention:
    """The same function, with the key and value heads of every group turned towards their mean.

    The orthogonal matrix that brings one head closest to another has a closed form
    (``procrustes``). ``n_rounds`` times the heads are brought to their mean, and a new mean is
    taken. With rotary positions every pair of columns turns in its own plane, the only turn of
    queries and keys that does not change the function; values turn freely.

    Raises ``ValueError`` as ``grouping.pooled`` does, and for norms of queries or keys.

    >>> mha, x = MultiHeadAttention(12, 6), torch.randn(5, 12)
    >>> torch.allclose(aligned(mha, 2)(x), mha(x), atol=1e-5)
    True
    """
    checks.positive(n_rounds=n_rounds)
    group = checks.divides(n_heads=key_heads(attention), n_kv_heads=n_kv_heads)
    turn_keys = _turn_of_keys(attention.split)
    attention = copying.copied(attention)
    project, W_O, d_head = attention.project, attention.W_O, attention.d_head
    share = attention.n_heads // key_heads(attention)

    def turned(W: nn.Linear, turn: Turn) -> Tensor:
        """Turn the heads of W; the matrix of every query head that reads them."""
        heads = by_head(W, d_head)
        turns = torch.cat([_turns(each, turn, n_rounds) for each in heads.split(group)])
        write(W, turns @ heads)
        # Shared keys were rotated once, so every query head that reads them is rotated alike.
        return turns.repeat_interleave(share, dim=0)

    write(project.W_Q, turned(project.W_K, turn_keys) @ by_head(project.W_Q, d_head))
    parts = W_O.weight.data.unflatten(1, (-1, d_head)).movedim(1, 0)
    back = parts @ turned(project.W_V, procrustes).mT
    W_O.weight.data.copy_(back.movedim(0, 1).flatten(1))
    return attention


def procrustes(heads: Tensor, target: Tensor) -> Tensor:
    """Orthogonal matrices R (…, d_head, d_head) that bring R @ heads closest to ``target``.

    >>> quarter = torch.tensor([[0.0, -1.0], [1.0, 0.0]])
    >>> head = torch.randn(2, 7)
    >>> torch.allclose(procrustes(head, quarter @ head), quarter, atol=1e-5)
    True
    """
    exact = torch.promote_types(heads.dtype, torch.float32)  # there is no svd in half precision
    u, _, vh = torch.linalg.svd((target @ heads.mT).to(exact))
    return (u @ vh).to(heads)


def _turns(heads: Tensor, turn: Turn, n_rounds: int) -> Tensor:
    target = heads[0]  # any start will do: the mean moves towards all heads round by round
    for _ in range(n_rounds):
        turns = turn(heads, target)
        target = (turns @ heads).mean(dim=0)
    return turns


def _turn_of_keys(split: Split | RotarySplit) -> Turn:
    if type(split) is not RotarySplit:
        return procrustes
    if not (isinstance(split.q_norm, nn.Identity) and isinstance(split.k_norm, nn.Identity)):
        raise ValueError(
            "q_norm and k_norm weigh single columns, so a turned head is another head; "
            "pool without aligning, or remove the norms first."
        )
    return partial(_pair_by_pair, split.rotary.pairing)


def _pair_by_pair(pairing: Pairing, heads: Tensor, target: Tensor) -> Tensor:
    """As ``procrustes``, among the matrices that turn every pair of columns in its plane."""
    # In a plane the closed form is the angle whose tangent is (sum of crosses) / (sum of dots).
    (a, b), (c, d) = pairing.apart(heads.mT), pairing.apart(target.mT)
    angles = torch.atan2((a * d - b * c).sum(dim=-2), (a * c + b * d).sum(dim=-2))[..., None, :]
    basis = torch.eye(heads.shape[-2], dtype=heads.dtype, device=heads.device)
    return pairing.rotate(basis, angles.cos(), angles.sin()).mT
