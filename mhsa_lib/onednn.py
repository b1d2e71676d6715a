"""Linear maps by the faster of two CPU libraries.

``F.linear`` in float32 goes to the BLAS that torch was built with, usually MKL. torch carries a
second library, oneDNN, and uses it for bfloat16. Which of them is faster in float32 is a matter
of the processor: on some, MKL does not use the widest instructions. Nothing but the rounding
differs. The operators are those that ``torch.compile`` calls in frozen models; a torch without
them falls back to ``F.linear``.

Source: Intel, oneDNN, https://uxlfoundation.github.io/oneDNN/.
"""

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

FEW_ROWS = 64
"""Up to so many rows it pays to lay a weight out before the product."""

_PACKED, _UNPACKED = 4, 8  # with fewer rows, reading the weight takes all the time
_TRAINED = 128  # with fewer, laying the weight out for its gradient does


@cache
def is_here() -> bool:
    """Whether this torch can call oneDNN for a linear map."""
    if not torch.backends.mkldnn.is_available():
        return False
    names = "_linear_pointwise", "_reorder_linear_weight"
    return all(hasattr(torch.ops.mkldnn, name) for name in names)


@cache
def is_faster() -> bool:
    """Whether oneDNN needs less than 3/4 of the time of ``F.linear`` in float32 here.

    Measured once, in about 20 milliseconds: the best of several products of 256 rows, in time
    of the processor, which does not count what other programs do meanwhile.
    """
    if not is_here():
        return False
    x, weight = torch.ones(256, 512), torch.ones(512, 512)
    with torch.no_grad():
        pairs = [[_seconds(f, x, weight) for f in (_product, F.linear)] for _ in range(6)]
    ours, theirs = (min(column[1:]) for column in zip(*pairs, strict=True))
    return ours < 0.75 * theirs


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x @ weight.T + bias``, as ``F.linear``, by the library that is faster here.

    Anything but float32 on a CPU, and whatever is being compiled, goes to ``F.linear``. Under
    autocast to bfloat16 both are oneDNN, and without gradients it is called directly.

    >>> x, weight = torch.randn(16, 4), torch.randn(3, 4)
    >>> torch.allclose(linear(x, weight), F.linear(x, weight), atol=1e-6)
    True
    """
    if not _serves(x, weight):
        return F.linear(x, weight, bias)
    dtype, trains = computing_in(x), torch.is_grad_enabled()
    if trains and any(t is not None and t.requires_grad for t in (x, weight, bias)):
        if dtype is not torch.float32 or x.numel() < _TRAINED * x.shape[-1]:
            return F.linear(x, weight, bias)
        return _Linear.apply(x, weight, bias)
    return _in_type(dtype, x, weight.to(dtype), bias)


def product(x: Tensor, y: Tensor) -> Tensor:
    """``x @ y.mT`` of matrices, one or many, on a CPU, without gradients.

    oneDNN is called for a single pair in float32; everything else is that of PyTorch.

    >>> x, y = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    >>> torch.allclose(product(x, y), x @ y.mT)
    True
    """
    if x.shape[:-2].numel() > 1:
        return x @ y.mT
    one, other = x.flatten(end_dim=-2), y.flatten(end_dim=-2)
    by_onednn = x.dtype is torch.float32 and is_here()
    z = _product(one, other) if by_onednn else one @ other.T  # bmm would copy a turned one
    return z.view(*x.shape[:-1], -1)


class Linear(nn.Linear):
    """``nn.Linear`` by the faster library; once packed, with a weight laid out for few rows.

    >>> W, x = Linear(4, 3), torch.randn(16, 4)
    >>> torch.allclose(W(x), F.linear(x, W.weight, W.bias), atol=1e-6)
    True
    """

    _packs: dict[Any, tuple[Any, Tensor]] | None = None

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__(in_features, out_features, bias)
        is_faster()  # now, so that no measurement falls into a pass that is being watched

    def pack(self) -> None:
        """From now on keep the weight in the order in which products with few rows read it.

        Under autocast, and for many rows, it is kept converted.
        """
        self._packs = {}

    def forward(self, x: Tensor) -> Tensor:
        """X (…, in_features) to (…, out_features)."""
        rows = x.numel() // self.in_features
        if rows < _PACKED or (rows < _TRAINED and torch.is_grad_enabled()):
            return F.linear(x, self.weight, self.bias)
        on_cpu = x.device.type == "cpu"
        packed = self._packs is not None and on_cpu and not torch.is_grad_enabled()
        if not packed or torch.compiler.is_compiling():
            return linear(x, self.weight, self.bias)
        dtype = computing_in(x)
        if not _multiplies(dtype) or (rows > FEW_ROWS and dtype is self.weight.dtype):
            return linear(x, self.weight, self.bias)
        return _in_type(dtype, x, self._laid_out(rows, dtype), self.bias)

    def _laid_out(self, rows: int, dtype: torch.dtype) -> Tensor:
        assert self._packs is not None
        rows, weight = min(rows, FEW_ROWS + 1), self.weight
        version = None if weight.is_inference() else weight._version
        now = version, weight.data_ptr(), weight.dtype
        state, pack = self._packs.get((rows, dtype), (None, weight))
        if state != now:
            pack = weight.detach().to(dtype).contiguous()
            if rows <= FEW_ROWS:  # with more, it is enough not to convert it again
                pack = torch.ops.mkldnn._reorder_linear_weight(pack, rows)
            self._packs[rows, dtype] = now, pack
        return pack

    def __getstate__(self) -> dict[str, Any]:
        """Without what was laid out: a copy lays out its own weight."""
        return {**super().__getstate__(), "_packs": None if self._packs is None else {}}


def computing_in(x: Tensor) -> torch.dtype:
    """The dtype of a product with x: its own, or that of autocast on a CPU."""
    by_autocast = x.device.type == "cpu" and torch.is_autocast_enabled("cpu")
    return torch.get_autocast_dtype("cpu") if by_autocast else x.dtype


def _multiplies(dtype: torch.dtype) -> bool:
    return dtype in (torch.float32, torch.bfloat16) and is_here()


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")


def _in_type(dtype: torch.dtype, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return _product(x.to(dtype), weight, None if bias is None else bias.to(dtype))


def _serves(x: Tensor, weight: Tensor) -> bool:
    return (
        x.numel() >= _UNPACKED * x.shape[-1]
        and type(x) is Tensor
        and type(weight) in (Tensor, nn.Parameter)  # a distributed tensor has its own products
        and x.device.type == "cpu"
        and weight.dtype is torch.float32
        and x.dtype in (torch.float32, computing_in(x))
        and _multiplies(computing_in(x))
        and not torch.compiler.is_compiling()
        and is_faster()
    )


class _Linear(torch.autograd.Function):
    """The product and its two gradients, each one call of oneDNN."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return _product(x, weight, bias)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        rows = grad.flatten(end_dim=-2)
        to_x = to_weight = to_bias = None
        if ctx.needs_input_grad[0]:
            to_x = _product(grad.contiguous(), weight.T.contiguous())
        if ctx.needs_input_grad[1]:
            columns = x.flatten(end_dim=-2).T.contiguous()
            to_weight = _product(rows.T.contiguous(), columns)
        if ctx.has_bias and ctx.needs_input_grad[2]:
            to_bias = rows.sum(dim=0)
        return to_x, to_weight, to_bias


def _seconds(f: Callable[..., Any], *args: Tensor) -> float:
    start = time.process_time()
    f(*args)
    return time.process_time() - start
