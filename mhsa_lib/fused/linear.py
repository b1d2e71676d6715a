"""Linear maps by the faster of two CPU libraries.

``F.linear`` in float32 goes to the BLAS that torch was built with, usually MKL. torch carries a
second library, oneDNN, and uses it for bfloat16. Which of them is faster in float32 is a matter
of the processor: on some, MKL does not use the widest instructions. Nothing but the rounding
differs. The operators are those that ``torch.compile`` calls in frozen models; a torch without
them falls back to ``F.linear``.

So that a run can be repeated to the last bit, the choice can be fixed: by the environment,
``MHSA_LINEAR=auto``, ``torch`` or ``onednn``, and for a block by ``linear_by``. Only ``auto``,
which it is without either, measures.

Source: Intel, oneDNN, https://uxlfoundation.github.io/oneDNN/.
"""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.compiler import is_compiling

from mhsa_lib.fused.packing import FEW_ROWS, Pack, lasts
from mhsa_lib.trace.watched import plain, recorded, transformed

CHOICES = ("auto", "torch", "onednn")
"""Who multiplies: the faster one, ``F.linear`` always, or oneDNN wherever it can."""

_PACKED, _UNPACKED = 4, 8  # with fewer rows, reading the weight takes all the time
_TRAINED = 128  # with fewer, laying the weight out for its gradient does


@cache
def is_here() -> bool:
    """Whether this torch can call oneDNN for a linear map."""
    if not torch.backends.mkldnn.is_available():
        return False
    names = "_linear_pointwise", "_reorder_linear_weight"
    return all(hasattr(torch.ops.mkldnn, name) for name in names)


@contextmanager
def linear_by(choice: str) -> Iterator[None]:
    """Fix who computes the linear maps in this block, for this thread (or task) alone.

    ``choice`` is one of ``CHOICES`` and goes before the environment's ``MHSA_LINEAR``. By
    ``torch``, weights that were packed are read unpacked, and no attention runs in tiles.

    >>> with linear_by("torch"):
    ...     is_chosen()
    False
    """
    token = _choice.set(_known("linear_by", choice))
    try:
        yield
    finally:
        _choice.reset(token)


_choice: ContextVar[str | None] = ContextVar("linear_by", default=None)


def is_chosen() -> bool:
    """Whether oneDNN computes float32 here: as ``linear_by`` or ``MHSA_LINEAR`` say, or faster.

    Raises ``ValueError`` for an ``MHSA_LINEAR`` that is none of ``CHOICES``, or onednn where
    this torch has none.
    """
    choice = _chosen()
    return is_faster() if choice == "auto" else choice == "onednn"


@cache
def is_faster() -> bool:
    """Whether oneDNN needs less than 3/4 of the time of ``F.linear`` in float32 here.

    Measured once, in about 20 milliseconds: the best of several products of 256 rows, in time
    of the processor, which does not count what other programs do meanwhile. A thread of its own
    measures: default devices, modes that watch or fake tensors, autocast and transforms belong
    to the thread that has set them.
    """
    if not is_here():
        return False
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_measured).result()


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

    _packs: dict[tuple[int, torch.dtype], Pack] | None = None

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__(in_features, out_features, bias)
        is_chosen()  # now, so that nobody's first pass waits for a measurement

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
        if rows < _PACKED or (rows < _TRAINED and torch.is_grad_enabled()):
            return F.linear(x, weight, bias)
        if self._packs is None or torch.is_grad_enabled() or not lasts(weight):
            return linear(x, weight, bias)
        dtype = computing_in(x)
        if rows > FEW_ROWS and dtype is weight.dtype:
            return linear(x, weight, bias)
        if _chosen() == "torch" or not _multiplies(x, weight, bias):
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


def computing_in(x: Tensor) -> torch.dtype:
    """The dtype of a product with x: its own, or that of autocast on a CPU, but for float64.

    >>> with torch.autocast("cpu", torch.bfloat16):
    ...     computing_in(torch.zeros(2)), computing_in(torch.zeros(2, dtype=torch.float64))
    (torch.bfloat16, torch.float64)
    """
    if not torch.is_autocast_enabled("cpu") or x.dtype is torch.float64 or not x.is_cpu:
        return x.dtype
    return torch.get_autocast_dtype("cpu")


def _known(name: str, choice: str) -> str:
    if choice not in CHOICES:
        raise ValueError(f"{name}={choice!r} is unknown; choose {', '.join(CHOICES)}.")
    if choice == "onednn" and not is_here():
        raise ValueError(
            f"{name}='onednn', but this PyTorch cannot call oneDNN; choose auto or torch."
        )
    return choice


def _chosen() -> str:
    return _choice.get() or _by_environment()


@cache
def _by_environment() -> str:
    return _known("MHSA_LINEAR", os.environ.get("MHSA_LINEAR") or "auto")


def _multiplies(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Whether oneDNN can compute these, in the type in which ``F.linear`` would."""
    dtype = computing_in(x)
    return (
        dtype in (torch.float32, torch.bfloat16)
        and computing_in(weight) is dtype
        and (bias is None or computing_in(bias) is dtype)
        and is_here()
        and plain(x, weight)
    )


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")


def _in_type(dtype: torch.dtype, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return _product(x.to(dtype), weight, None if bias is None else bias.to(dtype))


def _serves(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    return (
        not recorded()
        and x.numel() >= _UNPACKED * x.shape[-1]
        and weight.dtype is torch.float32
        and _multiplies(x, weight, bias)
        and is_chosen()
    )


class _Linear(torch.autograd.Function):
    """The product and its two gradients, each one call of oneDNN."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return _product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        rows = grad.reshape(-1, grad.shape[-1])
        # For derivatives of these gradients, products that have derivatives themselves.
        times = F.linear if differentiated_again(grad) else _product
        to_x = to_weight = to_bias = None
        if ctx.needs_input_grad[0]:
            to_x = times(grad.contiguous(), weight.T.contiguous())
        if ctx.needs_input_grad[1]:
            columns = x.reshape(-1, x.shape[-1]).T.contiguous()
            to_weight = times(rows.T.contiguous(), columns)
        if ctx.has_bias and ctx.needs_input_grad[2]:
            to_bias = rows.sum(dim=0)
        return to_x, to_weight, to_bias


def differentiated_again(grad: Tensor) -> bool:
    """Whether a backward pass is itself differentiated (``create_graph=True``) or batched."""
    several = torch._C._functorch.is_legacy_batchedtensor(grad)  # is_grads_batched=True
    return torch.is_grad_enabled() or transformed() or several or type(grad) is not Tensor


def _measured() -> bool:
    options: dict[str, Any] = {"dtype": torch.float32, "device": "cpu"}
    x, weight = torch.ones(256, 512, **options), torch.ones(512, 512, **options)
    with torch.no_grad():
        pairs = [[_seconds(f, x, weight) for f in (_product, F.linear)] for _ in range(6)]
    ours, theirs = (min(column[1:]) for column in zip(*pairs, strict=True))
    return ours < 0.75 * theirs


def _seconds(f: Callable[..., Any], *args: Tensor) -> float:
    start = time.process_time()
    f(*args)
    return time.process_time() - start
