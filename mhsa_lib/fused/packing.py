"""A weight laid out for products with few rows, and whether it is still that weight.

Source: Intel, oneDNN, https://uxlfoundation.github.io/oneDNN/, on memory formats.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_post_hook

FEW_ROWS = 64
"""Up to so many rows it pays to lay a weight out before the product.

A weight of 512 × 1,536 that is laid out took 0.45 of the time of ``F.linear`` for 4 rows, 0.72
for 16, 0.75 for 32 and 0.82 for 64, where without it took 0.83 too (float32, one core of an
EPYC). On a Sapphire Rapids Xeon it was 0.41 for 16 rows and 0.92 to 1.02 from 128 on.
"""


class Pack(NamedTuple):
    """A weight laid out, and what tells whether it is still the same weight.

    The parameter and its memory are held, so that no other can take their place unseen.

    >>> W = nn.Linear(8, 6).requires_grad_(False)
    >>> pack = Pack.of(W.weight, 16, torch.float32)
    >>> pack.is_of(W.weight), pack.is_of(W.weight.mul_(2.0))
    (True, False)
    """

    source: Tensor
    memory: Tensor
    version: int
    steps: int
    laid_out: Tensor

    @classmethod
    def of(cls, weight: Tensor, rows: int, dtype: torch.dtype) -> "Pack":
        """For products of so many rows in this dtype; with many, only converted to it."""
        with torch.no_grad():
            laid_out = weight.detach().to(dtype).contiguous()
            if rows <= FEW_ROWS:
                laid_out = torch.ops.mkldnn._reorder_linear_weight(laid_out, rows)
        return cls(weight, weight.data, weight._version, _steps, laid_out)

    def is_of(self, weight: Tensor) -> bool:
        """Whether this is the parameter that was laid out, unchanged."""
        same = self.source is weight and self.memory.data_ptr() == weight.data_ptr()
        return same and self.version == weight._version and self.steps == _steps


def lasts(weight: Tensor) -> bool:
    """Whether it is a parameter, and one whose changes PyTorch counts.

    >>> lasts(nn.Parameter(torch.zeros(2))), lasts(torch.zeros(2))
    (True, False)
    """
    return type(weight) is nn.Parameter and not weight.is_inference()


_steps = 0


def _count(*_: Any) -> None:
    global _steps
    _steps += 1


# Fused optimizers write to a weight and do not count it; every step of any optimizer counts.
register_optimizer_step_post_hook(_count)
