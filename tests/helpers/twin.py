"""A second device for machines that have none: what works on it does so on a GPU.

Its tensors are kept by the CPU, so every number is the CPU's. But it keeps the rules of a
device of its own: none of its tensors meets one of the CPU (except a single number, or as an
index), and NumPy cannot read them. Without it nobody here would see that a picture or a mask
was made in the wrong place.

Left out: which tensors share memory. Nothing here can say it of the twin's.
"""

from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

TWIN = "twin:0"
aten = torch.ops.aten

MOVES = {aten._to_copy.default, aten.copy_.default}
INDEXES = {
    aten.index.Tensor, aten.index_put.default, aten.index_put_.default,
    aten._index_put_impl_.default,
}  # fmt: skip
READ_BY_PYTHON = {Tensor.tolist, Tensor.__format__, Tensor.data_ptr, Tensor.untyped_storage}
MADE_IN_C = {torch.tensor, torch.as_tensor, torch.asarray}


class Twin(Tensor):
    """A tensor of the second device; `kept` is the same on the CPU."""

    @staticmethod
    def __new__(cls, kept):
        new = Tensor._make_wrapper_subclass(
            cls,
            kept.size(),
            strides=kept.stride(),
            storage_offset=kept.storage_offset(),
            dtype=kept.dtype,
            device=TWIN,
        )
        new.kept = kept
        return new

    def __repr__(self):
        return repr(self.kept)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in READ_BY_PYTHON:
            return func(args[0].kept.detach(), *args[1:], **kwargs)
        if func in (Tensor.numpy, Tensor.__array__):
            raise TypeError("can't convert a tensor of twin:0 to numpy; use Tensor.cpu() first")
        if func == Tensor.data.__set__:  # made anew by every look, so not `is`
            args[0].kept = args[1].kept
        if func in (Tensor.__getitem__, Tensor.__setitem__):
            args = (args[0], _as_index(args[1]), *map(_moved_like(args[0]), args[2:]))
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **kwargs)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return _run(func, args, kwargs or {})


def _as_index(index: Any) -> Any:
    return pytree.tree_map_only(list, torch.tensor, index, is_leaf=lambda a: type(a) is list)


def _moved_like(tensor: Tensor) -> Any:
    def moved(value: Any) -> Tensor:
        if isinstance(value, Tensor):
            return value
        return torch.tensor(value, dtype=tensor.dtype, device="cpu").to(TWIN)

    return moved


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Compute on the CPU what shall be computed on the twin."""
    tensors = [a for a in pytree.arg_tree_leaves(*args, **kwargs) if isinstance(a, Tensor)]
    own = any(isinstance(tensor, Twin) for tensor in tensors)
    strangers = [tuple(t.shape) for t in tensors if not isinstance(t, Twin) and t.ndim]
    if own and strangers and func not in MOVES | INDEXES:
        raise RuntimeError(f"{func}: tensors of twin:0 meet these of the CPU: {strangers}")
    if func is aten._fused_sdp_choice.default:
        return 0  # the plain mathematics
    target = kwargs.get("device")
    onto = own if target is None else torch.device(target).type == "twin"
    inner_args, inner = pytree.tree_map_only(Twin, lambda t: t.kept, (args, kwargs))
    if target is not None and onto:
        inner |= {"device": torch.device("cpu")}
    out = func(*inner_args, **inner | ({"pin_memory": False} if "pin_memory" in inner else {}))
    if func is aten.copy_.default:
        return args[0]
    if not onto:
        return out
    out = pytree.tree_map_only(Tensor, lambda t: t if isinstance(t, Twin) else Twin(t), out)
    return return_and_correct_aliasing(func, args, kwargs, out)


class _Factories(TorchDispatchMode):
    """Make on the second device what is asked for there."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        target = (kwargs or {}).get("device")
        if target is not None and torch.device(target).type == "twin":
            return _run(func, args, kwargs)
        return func(*args, **kwargs or {})


class _MadeInC(TorchFunctionMode):
    """What C++ would make on the device at once is made on the CPU and moved."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func not in MADE_IN_C or isinstance(args[0], Twin):
            return func(*args, **kwargs)
        target = kwargs.pop("device", None) or torch.get_default_device()
        return func(*args, **kwargs, device="cpu").to(target)


def plug_in() -> torch.device:
    """Make the device known to this process, for good, and return it."""
    _setup_privateuseone_for_python_backend("twin")
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    _Factories().__enter__()
    _MadeInC().__enter__()
    return torch.device(TWIN)
