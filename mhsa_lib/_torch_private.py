"""Names of PyTorch that are not public, each behind one function and with a fallback.

A private name may be gone in the next version of torch, and whoever only builds and calls an
attention must not notice. The fallbacks are the cautious answers: where we cannot know whether
a transform or a hook is at work, we say that one is, and PyTorch's own operations do the work.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn.modules import module as _module
from torch.utils import _pytree

HOOKS = ("forward_hooks", "forward_pre_hooks", "backward_hooks", "backward_pre_hooks")


def _gone(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"torch {torch.__version__} has no {name} where we look for it; use a version of torch "
        f"that this library was tested with."
    )


# Base classes must exist when our modules are imported, and a fallback that is a function costs
# nothing later, so these are looked up here; everything else is looked up when it is needed.
try:
    from torch.utils._python_dispatch import TorchDispatchMode as DispatchMode
except ImportError:  # pragma: no cover - simulated in tests/mhsa_lib/test_torch_private.py

    class DispatchMode:  # type: ignore[no-redef]
        """Stands for the base class of our recorder, without which trace sees no operation."""

        def __init__(self) -> None:
            raise _gone("TorchDispatchMode")


try:
    from torch.utils._pytree import tree_leaves as leaves
except ImportError:

    def leaves(tree: Any) -> list[Any]:  # type: ignore[misc]
        """What is in nested tuples, lists and dicts; ``torch.utils._pytree.tree_leaves``."""
        if isinstance(tree, dict):
            tree = list(tree.values())
        if not isinstance(tree, tuple | list):
            return [tree]
        return [leaf for branch in tree for leaf in leaves(branch)]


def functorch_is_active() -> bool:
    """Whether ``torch.func`` transforms; unknown: yes."""
    ask: Callable[[], bool] = getattr(
        torch._C, "_are_functorch_transforms_active", lambda: True
    )
    return ask()


def forward_ad_is_active() -> bool:
    """Whether forward-mode differentiation has a level open; unknown: yes."""
    return getattr(forward_ad, "_current_level", 0) >= 0


def in_backward_thread() -> bool:
    """Whether this thread runs a backward pass; unknown: no."""
    task: Callable[[], int] = getattr(torch._C, "_current_graph_task_id", lambda: -1)
    return task() != -1


def has_global_hooks() -> bool:
    """Whether a hook acts on all modules of the process; unknown: yes."""
    return any(getattr(_module, f"_global_{name}", True) for name in HOOKS)


def hook_tables(module: nn.Module) -> list[dict[Any, Any]]:
    """The hooks of a module by kind, as torch holds them, to be read or deleted."""
    # A table that cannot be found has one entry, so that whoever looks for hooks finds one.
    return [getattr(module, f"_{name}", {0: "an unknown hook"}) or {} for name in HOOKS]


def has_tensor_hooks(tensor: Tensor) -> bool:
    """Whether a hook changes the gradient of a tensor; unknown: yes."""
    return bool(getattr(tensor, "_backward_hooks", True))


def forward_hooks(module: nn.Module) -> list[Any]:
    """The hooks that act after a module; unknown: none."""
    return list(getattr(module, "_forward_hooks", {}).values())


def forward_pre_hooks(module: nn.Module) -> list[Any]:
    """The hooks that act before a module; unknown: none."""
    return list(getattr(module, "_forward_pre_hooks", {}).values())


def is_compiled(module: nn.Module) -> bool:
    """Whether ``torch.compile`` wraps a module or compiled it in place; unknown: no."""
    # torch.compile(module) wraps it and module.compile() does not; each leaves its own name.
    in_place = getattr(module, "_compiled_call_impl", None) is not None
    return in_place or hasattr(module, "_orig_mod")


def is_replica(module: nn.Module) -> bool:
    """Whether ``nn.DataParallel`` made a module for one call; unknown: no."""
    return getattr(module, "_is_replica", False)


def compiler_is_loaded() -> bool:
    """Whether torch's compiler has been imported, without which nothing is compiled yet."""
    return "torch._dynamo" in sys.modules


@contextmanager
def any_number_of_compilations() -> Iterator[None]:
    """Lift the limit on how many kinds of call one function is compiled for; unknown: keep it.

    Beyond its limit of 8 torch runs the function uncompiled, and only warns.
    """
    config = getattr(sys.modules.get("torch._dynamo"), "config", None)
    limits = ("recompile_limit", "accumulated_recompile_limit", "cache_size_limit")
    found = {name: sys.maxsize for name in limits if hasattr(config, name)}
    with config.patch(found) if config is not None else nullcontext():
        yield


def storage_id(tensor: Tensor) -> int:
    """Identity of the memory behind a dense tensor, on ``meta`` too."""
    # Not the address, which is 0 for all of meta and not there for a fake tensor: without the
    # handle, tensors on meta must not look shared.
    storage = tensor.untyped_storage()
    return getattr(storage, "_cdata", None) or storage.data_ptr() or id(tensor)


def version(tensor: Tensor) -> Any:
    """How often a tensor was written to; tensors of inference mode are not counted."""
    # Without torch's counter the answer equals no other answer, so that nobody trusts a tensor
    # to be unchanged.
    return -1 if tensor.is_inference() else getattr(tensor, "_version", object())


def is_in_place(operation: Any) -> bool:
    """Whether an operation writes into its arguments; by the sign of its name if need be."""
    named_so = operation.__name__.partition(".")[0].endswith("_")
    return getattr(getattr(operation, "_schema", None), "is_mutable", named_so)


def never_compile(function: Any) -> Any:
    """Mark a function that dynamo is to call as it is, without tracing into it."""
    # What torch.compiler.disable sets, which would import the whole compiler.
    function._torchdynamo_disable = True
    return function


def constant_when_exported(kind: type) -> type:
    """Let ``torch.export`` take values of this type as arguments; unknown: it refuses them."""
    getattr(_pytree, "register_constant", lambda _: None)(kind)
    return kind


def dynamo_may_break_its_graph() -> bool:
    """Whether dynamo is tracing a program without ``fullgraph=True``; unknown: no."""
    try:
        from torch._dynamo.symbolic_convert import InstructionTranslator

        return not InstructionTranslator.current_tx().one_graph
    except (ImportError, AttributeError):
        return False


@contextmanager
def parameters_replaced(module: nn.Module, others: dict[str, Tensor]) -> Iterator[None]:
    """Let a module find other tensors under the names of some of its own parameters."""
    # functional_call would do it from outside of a call; this works inside forward too.
    own = module.__dict__["_parameters"]
    module.__dict__["_parameters"] = {**own, **others}
    try:
        yield
    finally:
        module.__dict__["_parameters"] = own


def all_to_all(parts: Tensor, group: Any) -> Tensor:
    """Exchange equal parts among the ranks of a group, with gradients."""
    # Imported in the call, because most programs need no torch.distributed.
    try:
        from torch.distributed._functional_collectives import all_to_all_single_autograd
    except ImportError as error:
        raise _gone("all_to_all_single_autograd") from error
    return all_to_all_single_autograd(parts, None, None, group)
