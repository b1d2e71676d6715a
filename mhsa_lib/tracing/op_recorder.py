"""Every operation torch really runs in a call: shape, strides, view or new memory, FLOPs."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import flop_registry

from mhsa_lib._torch_private import DispatchMode, is_in_place, leaves, storage_id


@dataclass(frozen=True)
class Op:
    """One tensor that one operation produced.

    ``result`` is "view" (no data moved), "new memory" or "in place". ``flops`` counts a
    multiply-add of a matrix product as 2; elementwise operations, and those that torch's own
    counter does not know, count as 0. A sparse tensor has no ``stride``, and ``bytes`` and
    ``flops`` as if it were dense.
    """

    name: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    result: str
    bytes: int
    flops: int


class Ops(list[Op]):
    """The operations in the order they ran."""

    @property
    def flops(self) -> int:
        """FLOPs of all matrix products together; a multiply-add counts as 2."""
        return sum(op.flops for op in self)

    def __repr__(self) -> str:
        return ledger(("op", "shape"), ((op.name, in_brackets(op.shape), op) for op in self))


class OpRecorder(DispatchMode):
    """Records every operation in ``ops``, and the tensors that it made in ``outputs``.

    It works below the modules, so it sees what reaches the kernels, on any device.
    """

    def __init__(self) -> None:
        super().__init__()
        # Which named tensors the numbers in a memory were made from.
        self.made_from: dict[int, set[str]] = {}
        self.forget()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Otherwise torch imports its compiler (seconds) only to find that it skips us.
        return False

    def forget(self) -> None:
        """Drop what was recorded so far."""
        # Outputs are kept alive, because torch gives the memory of a freed tensor to the next,
        # and those two would then be taken for views of one another.
        self.ops, self.outputs = Ops(), list[Tensor]()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if any(hasattr(kind, "to_local") for kind in types):
            return NotImplemented  # a DTensor: wait for what it does on this device
        # In inference mode composed operations arrive whole, so take them apart.
        if torch.is_inference_mode_enabled():
            with self:
                parts = func.decompose(*args, **kwargs)
            if parts is not NotImplemented:
                return parts
        out, name = func(*args, **kwargs), func.__name__.split(".")[0]
        # Memory of an argument is shared, not new; which of the two the schema of torch says.
        seen = {storage(t) for t in leaves((args, kwargs)) if isinstance(t, Tensor)}
        shared = "in place" if is_in_place(func) else "view"
        flops = _flops(name, func, args, kwargs, out)
        sources = set().union(*(self.made_from.get(memory, ()) for memory in seen))
        for tensor in (t for t in leaves(out) if isinstance(t, Tensor)):
            result = shared if storage(tensor) in seen else "new memory"
            stride = tensor.stride() if tensor.layout is torch.strided else ()
            size = tensor.numel() * tensor.itemsize
            self.ops.append(Op(name, tuple(tensor.shape), stride, result, size, flops))
            self.outputs.append(tensor)
            self.made_from[storage(tensor)] = sources
            flops = 0  # of several outputs the first carries the cost of the operation
        return out


def trace_ops(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Ops:
    """Run ``fn(*args, **kwargs)`` and return what torch did, in third-party modules too.

    >>> import torch
    >>> ops = trace_ops(lambda x: x.mT @ x, torch.randn(2, 3))
    >>> [(op.name, op.result, op.flops) for op in ops]
    [('transpose', 'view', 0), ('mm', 'new memory', 36)]
    """
    with OpRecorder() as recorder:
        fn(*args, **kwargs)
    return recorder.ops


def storage(tensor: Tensor) -> int:
    """Return the identity of a tensor's memory, which its views share, also on meta."""
    # Other layouts, sparse ones or MKL-DNN's, have several memories or none that is known.
    return storage_id(tensor) if tensor.layout is torch.strided else id(tensor)


def align(rows: Sequence[tuple[str, ...]], right: tuple[int, ...] = ()) -> str:
    """Return columns of text of equal width; those in ``right`` are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def ledger(names: tuple[str, str], rows: Iterable[tuple[str, str, Any]]) -> str:
    """Return a line per operation or wire: two words, named by ``names``, and its sizes."""
    lines = [(*names, "stride", "result", "bytes", "FLOPs")]
    for name, axes, op in rows:
        sizes = in_brackets(op.stride), op.result, f"{op.bytes:,}", f"{op.flops:,}"
        lines.append((name, axes, *sizes))
    return align(lines, right=(4, 5))


def in_brackets(sizes: tuple[int, ...]) -> str:
    """Return a shape or strides as text, without the comma that a tuple of one has."""
    return f"({', '.join(map(str, sizes))})"


def _flops(name: str, func: Any, args: tuple[Any, ...], kwargs: Any, out: Any) -> int:
    # Whole kernels that torch's own counter does not know in every version.
    if name == "_native_multi_head_attention":
        return _whole_layer_flops(*args)
    if name.startswith("_scaled_dot_product") and not name.endswith("_backward"):
        q, k, v, *_ = args  # both products, scores and mix, as if nothing were masked
        return 2 * math.prod(q.shape[:-1]) * k.shape[-2] * (q.shape[-1] + v.shape[-1])
    count = flop_registry.get(func._overloadpacket)
    return 0 if count is None else int(count(*args, **kwargs, out_val=out))


def _whole_layer_flops(q: Tensor, k: Tensor, v: Tensor, d_model: int, *_: Any) -> int:
    """FLOPs of the four projections and both products of attention."""
    n_query, n_key = math.prod(q.shape[:-1]), math.prod(k.shape[:-1])
    return 4 * (n_query + n_key) * d_model**2 + 4 * n_query * k.shape[-2] * d_model
