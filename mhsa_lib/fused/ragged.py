"""A padded batch as sequences one after the other: padding is left out before any product.

What a padded row of the result holds is known beforehand: the bias of W_O.

Source: Zeng et al., "Boosting Distributed Training Performance of the Unpadded BERT Model",
arXiv 2208.08124.
"""

from typing import Any

import torch
from torch import Tensor

from mhsa_lib import masks
from mhsa_lib.execution_mode import is_eager

FEWEST_ON_A_GPU = 2048
"""Tokens of a padded sequence from which leaving padding out pays there: a sequence costs some
0.06 ms of launches, in which an H100 also computes 2,000 tokens of padding (float32: 1,000)."""


def lengths_of(mask: Any, x: Tensor) -> tuple[int, ...] | None:
    """How many tokens of each sequence are real, if the mask says that the others are padding.

    None if it does not, if nothing is padded, on a GPU for short sequences, under transforms,
    or while recording, where lengths would be constants of the recorded program.
    """
    if not isinstance(mask, masks.Predicate) or x.ndim != 3 or not is_eager():
        return None
    if x.is_cuda and x.shape[1] < FEWEST_ON_A_GPU:
        return None
    structure = mask.structure
    lengths = structure.query_lengths
    if not structure.exact or lengths is None or lengths != structure.key_lengths:
        return None
    if len(lengths) != len(x):
        return None
    lengths = tuple(min(length, x.shape[1]) for length in lengths)
    return None if sum(lengths) == x.shape[0] * x.shape[1] else lengths


def places(lengths: tuple[int, ...], n_tokens: int, device: torch.device) -> Tensor:
    """Return the rows of the real tokens in a batch padded to ``n_tokens`` and flattened."""
    rows = [i * n_tokens + torch.arange(n, device=device) for i, n in enumerate(lengths)]
    return torch.cat(rows)


def padded(y: Tensor, real: Tensor, shape: torch.Size, bias: Tensor | None) -> Tensor:
    """Return real rows in their places, in a batch whose other rows are the bias of W_O."""
    row = y.new_zeros(y.shape[-1]) if bias is None else bias.to(y)
    rows = row.repeat(shape.numel(), 1)
    return rows.index_copy_(0, real, y).view(*shape, y.shape[-1])
