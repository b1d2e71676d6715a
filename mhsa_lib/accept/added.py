"""What was added to a module after its class was written: hooks, parameters, other methods.

Hooks that only watch (``trace``) add nothing.
"""

from collections.abc import Iterator
from inspect import isfunction, ismethod
from typing import Any

from torch import Tensor, nn

from mhsa_lib.accept.kinds import SHOWN, named
from mhsa_lib.tracing import hooks

_PACKED = {"in_proj_weight", "in_proj_bias", "bias_k", "bias_v"}  # of nn.MultiheadAttention
_APART = {"q_proj_weight", "k_proj_weight", "v_proj_weight"}  # of the same
_SINGLE = {"sinks", "log_alpha"}  # of GptOssAttention, of HardConcrete
PARAMETERS = {"weight", "bias"} | _SINGLE | _PACKED | _APART
_BACKWARD = "_backward_pre_hooks", "_backward_hooks"
HOOKS = "_forward_pre_hooks", "_forward_hooks", *_BACKWARD


def changes_nothing(hook: Any) -> bool:
    """Whether a hook only watches: one of ours, or that by which transformers gives weights."""
    capturing = getattr(hook, "__module__", None) == "transformers.utils.output_capturing"
    return capturing or hooks.changes_nothing(hook)


def additions(module: nn.Module) -> Iterator[tuple[str, str]]:
    """What was done to a module after its class was written: what, and the repair."""
    for name, value in vars(module).items():
        if isinstance(value, Tensor) and name in PARAMETERS:
            yield (
                f"computes its {name}",
                "make it plain first, with remove_weight_norm, remove_spectral_norm or "
                "prune.remove of torch.nn.utils",
            )
        theirs = getattr(type(module), name, None)
        own = ismethod(value) and value.__self__ is module and value.__func__ is theirs
        if callable(theirs) and not own:  # its own is what accelerate leaves behind
            yield (
                f"has a {name} of its own",
                f"let go who put it there (accelerate: remove_hook_from_module), or "
                f"del module.{name}",
            )
    for owner, name, method in _methods(type(module)):
        if not _is_written_there(method, owner, name):
            found = getattr(method, "__qualname__", type(method).__name__)
            at = getattr(method, "__module__", owner.__module__)
            yield f"has the {name} {at}.{found}", "let its class have its own again"
    for kind in HOOKS:
        for hook in (getattr(module, kind) or {}).values():
            if not changes_nothing(hook):
                act = getattr(hook, "act", hook)  # a hook of ours stands around what it does
                yield f"has a hook, {named(act)}", "convert without it, and hook the result"
    for name, parameter in module._parameters.items():
        if parameter is None:
            continue
        if name not in PARAMETERS:
            yield f"has a parameter {name}", "fold it into the maps, or delete it"
        if type(parameter) not in (nn.Parameter, Tensor):
            yield f"has a {named(parameter)} as {name}", "pass an attention that is whole"
        if parameter._backward_hooks:
            yield f"has a hook on {name}", "convert without it, and hook the result"


def _methods(cls: type) -> Iterator[tuple[type, str, Any]]:
    """What a class and those above it do, up to what every module does: class, name, method."""
    for base in cls.__mro__:
        if base is nn.Module:
            return
        for name, value in vars(base).items():
            if name == "forward" or (isfunction(value) and name not in SHOWN):
                yield base, name, value


def _is_written_there(method: Any, owner: type, name: str) -> bool:
    """Whether a method is the one that its class was written with, by its name and module."""
    named = getattr(method, "__module__", ""), getattr(method, "__qualname__", "")
    return named == (owner.__module__, f"{owner.__qualname__}.{name}")
