"""Masks that are added to the scores: 0 may look, -inf may not."""

import math

import torch
from torch import Tensor

from mhsa_lib import checks


def from_additive(mask: Tensor) -> Tensor:
    """A mask that was meant to be added to the scores: 0 may look, -inf may not.

    The lowest finite number of the dtype is taken for -inf, as many libraries write it.

    >>> from_additive(torch.tensor([[0.0, float("-inf")]]))
    tensor([[ True, False]])
    """
    if not isinstance(mask, Tensor) or not mask.is_floating_point():
        kind = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(
            f"an additive mask is a floating-point tensor of 0 and -inf, not {kind}."
        )
    allowed, forbidden = mask == 0, mask <= torch.finfo(mask.dtype).min
    neither = mask[~(allowed | forbidden)]
    if neither.numel():
        raise ValueError(
            f"an additive mask holds 0 and -inf only, but {neither[0].item():g} is in it; "
            f"a bias such as ALiBi is not a mask: add it to the scores."
        )
    return allowed


def to_additive(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """What a mask adds to the scores; faster than filling: 0 may look, -inf may not.

    >>> to_additive(torch.tensor([[True, False]]), torch.float32)
    tensor([[0., -inf]])
    """
    checks.boolean(allowed)
    return torch.zeros_like(allowed, dtype=dtype).masked_fill_(~allowed, -math.inf)
