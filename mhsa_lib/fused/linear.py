"""Linear maps by the faster of two CPU libraries, and with weights laid out for few rows.

Which of the two is faster is measured in ``blas``; the products of the second are ``onednn``.
Anything but float32 on a CPU, and whatever is recorded or transformed, is ``F.linear``.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.compiler import is_compiling

from mhsa_lib.execution_mode import is_recording
from mhsa_lib.fused import blas, onednn
from mhsa_lib.fused.packing import FEW_ROWS, Pack, lasts

FEWEST_PACKED, FEWEST_UNPACKED = 4, 8
"""Rows from which on oneDNN is called, with a weight laid out for it and without.

With fewer, reading the weight takes all the time, and no library is ahead: a weight of 512 ×
1,536 took 1.13, 1.05, 0.96 and 0.96 of the time of ``F.linear`` for 1, 2, 4 and 8 rows, and
laid out 0.97, 0.57, 0.45 and 0.65 (float32, one core of an EPYC). On a Sapphire Rapids Xeon one
row took 1.05 to 1.45 with a weight laid out.
"""

FEWEST_TRAINED = 128
"""Rows from which on its gradients are products of oneDNN too.

With fewer, laying the weight out for them takes more time than is won: forward and backward
took 1.49, 1.33, 1.21, 0.89 and 0.96 for 16, 32, 64, 128 and 256 rows (as above).
"""


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x @ weight.T + bias``, as ``F.linear``, by the library that is faster here.

    Anything but float32 on a CPU, and whatever is recorded or transformed, goes to
    ``F.linear``. Under autocast to bfloat16 both are oneDNN, and without gradients it is called
    directly.

    >>> x, weight = torch.randn(16, 4), torch.randn(3, 4)
    >>> torch.allclose(linear(x, weight), F.linear(x, weight), atol=1e-6)
    True
    """
    if not _serves(x, weight, bias):
        return F.linear(x, weight, bias)
    dtype, trains = onednn.computing_in(x), torch.is_grad_enabled()
    if trains and any(t is not None and t.requires_grad for t in (x, weight, bias)):
        if dtype is not torch.float32 or x.numel() < FEWEST_TRAINED * x.shape[-1]:
            return F.linear(x, weight, bias)
        return onednn.LinearFunction.apply(x, weight, bias)
    return _in_type(dtype, x, weight.to(dtype), bias)


class Linear(nn.Linear):
    """``nn.Linear`` by the faster library; once packed, with a weight laid out for few rows.

    >>> W, x = Linear(4, 3), torch.randn(16, 4)
    >>> torch.allclose(W(x), F.linear(x, W.weight, W.bias), atol=1e-6)
    True
    """

    _packs: dict[tuple[int, torch.dtype], Pack] | None = None

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__(in_features, out_features, bias)
        blas.is_chosen()  # now, so that nobody's first pass waits for a measurement

    def pack(self) -> None:
        """From now on keep the weight in the order in which products with few rows read it.

        Under autocast, and for many rows, it is kept converted. What is kept is that of the
        ``nn.Parameter`` in force, as it is now: another one, ``load_state_dict``, ``to`` and
        the steps of optimizers are noticed. A weight that PyTorch does not count the changes of
        (computed by a parametrization, given by ``functional_call``, made under
        ``inference_mode``) is never packed.
        """
        self._packs = {}

    def forward(self, x: Tensor) -> Tensor:
        """X (…, in_features) to (…, out_features)."""
        weight, bias = self.weight, self.bias
        if is_compiling():  # before sizes are asked for, which may be symbols
            return F.linear(x, weight, bias)
        rows = x.numel() // self.in_features
        if rows < FEWEST_PACKED or (rows < FEWEST_TRAINED and torch.is_grad_enabled()):
            return F.linear(x, weight, bias)
        if self._packs is None or torch.is_grad_enabled() or not lasts(weight):
            return linear(x, weight, bias)
        dtype = onednn.computing_in(x)
        if rows > FEW_ROWS and dtype is weight.dtype:
            return linear(x, weight, bias)
        if blas.chosen() == "torch" or not onednn.multiplies(x, weight, bias):
            return linear(x, weight, bias)
        return _in_type(dtype, x, self._laid_out(rows, dtype), bias)

    def _laid_out(self, rows: int, dtype: torch.dtype) -> Tensor:
        assert self._packs is not None
        rows = min(rows, FEW_ROWS + 1)  # beyond, one copy serves all
        pack = self._packs.get((rows, dtype))
        if pack is None or not pack.is_of(self.weight):
            pack = self._packs[rows, dtype] = Pack.of(self.weight, rows, dtype)
        return pack.laid_out

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
        """Moved or converted, by ``to`` and its like: what was laid out is let go at once."""
        self._packs = None if self._packs is None else {}
        return super()._apply(fn, recurse)

    def __getstate__(self) -> dict[str, Any]:
        """Without what was laid out: a copy lays out its own weight."""
        return {**self.__dict__, "_packs": None if self._packs is None else {}}


def _in_type(dtype: torch.dtype, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return onednn.times(x.to(dtype), weight, None if bias is None else bias.to(dtype))


def _serves(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    return (
        not is_recording()
        and x.numel() >= FEWEST_UNPACKED * x.shape[-1]
        and weight.dtype is torch.float32
        and onednn.multiplies(x, weight, bias)
        and blas.is_chosen()
    )
