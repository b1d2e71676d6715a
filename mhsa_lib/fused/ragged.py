"""A padded batch as what it is: sequences of different lengths, one after the other.

Padding is left out before the first product, so no projection, score or gradient is spent on
it. What a padded row of the result holds is known beforehand: the bias of W_O.

Source: Zeng et al., "Boosting Distributed Training Performance of the Unpadded BERT Model",
arXiv 2208.08124.
"""

from typing import Any

import torch
from torch import Tensor

from mhsa_lib import masks
from mhsa_lib.execution_mode import is_eager
from mhsa_lib.fused import cpu


def lengths_of(mask: Any, x: Tensor, dropout: float = 0.0) -> tuple[int, ...] | None:
    """How many tokens of each sequence are real, if the mask says that the others are padding.

    None if it does not, if nothing is padded, while recording, where lengths would be constants
    of the recorded program, under transforms, or where few tokens are trained faster as one
    padded product; under ``dropout``, with gradients or without, so that both draw alike.

    >>> lengths_of(masks.padding([3, 9]), torch.zeros(2, 5, 12))
    (3, 5)
    """
    if not isinstance(mask, masks.Predicate) or x.ndim != 3 or not is_eager():
        return None
    structure = mask.structure
    lengths = structure.query_lengths
    known = structure.exact and lengths is not None and lengths == structure.key_lengths
    if lengths is None or not known or len(lengths) != len(x):
        return None
    trained = (torch.is_grad_enabled() or dropout) and x.is_cpu
    if trained and cpu.are_few_in_bfloat16(_computed_dtype(x), *[x.shape[1]] * 2):
        return None
    lengths = tuple(min(length, x.shape[1]) for length in lengths)
    return None if sum(lengths) == x.shape[0] * x.shape[1] else lengths


def _computed_dtype(x: Tensor) -> torch.dtype:
    """Return the dtype of a product with x: its own, or that of autocast on a CPU."""
    if not torch.is_autocast_enabled("cpu") or x.dtype is torch.float64 or not x.is_cpu:
        return x.dtype
    return torch.get_autocast_dtype("cpu")


def places(lengths: tuple[int, ...], n_tokens: int, device: torch.device) -> Tensor:
    """Rows of the real tokens in a batch padded to ``n_tokens`` and then flattened.

    >>> places((1, 2), 3, torch.device("cpu"))
    tensor([0, 3, 4])
    """
    starts = range(0, n_tokens * len(lengths), n_tokens)
    pairs = zip(lengths, starts, strict=True)
    rows = [torch.arange(start, start + n, device=device) for n, start in pairs]
    return torch.cat(rows)


def padded(y: Tensor, real: Tensor, shape: torch.Size, bias: Tensor | None) -> Tensor:
    """Real rows back in their places, in a batch whose other rows are the bias of W_O.

    >>> padded(torch.ones(1, 2), torch.tensor([1]), torch.Size([1, 2]), None)
    tensor([[[0., 0.],
             [1., 1.]]])
    """
    row = y.new_zeros(y.shape[-1]) if bias is None else bias.to(y)
    rows = row.repeat(shape.numel(), 1)
    return rows.index_copy_(0, real, y).view(*shape, y.shape[-1])
