"""How operations are being executed: simply run, or recorded, or transformed.

A kernel of another library, and an ``autograd.Function``, are right only while operations run
at once on plain numbers: what is recorded runs again with other sizes, and what is transformed
carries tangents or batches that such a kernel would not see.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.compiler import is_compiling

from mhsa_lib import _torch_private


def is_recording() -> bool:
    """Whether ``torch.compile``, ``export`` or ``jit.trace`` writes operations down."""
    return is_compiling() or torch.jit.is_tracing()


def is_transformed() -> bool:
    """Whether ``torch.func`` or forward-mode differentiation is at work."""
    return _torch_private.functorch_is_active() or _torch_private.forward_ad_is_active()


def is_eager() -> bool:
    """Whether operations are neither recorded nor transformed."""
    return not (is_recording() or is_transformed())


def is_unmodified(module: nn.Module, kind: type[nn.Module]) -> bool:
    """Whether a module is its parameters and its kind's ``forward``: then they may be read."""
    # A parametrization makes a subclass, so the type must be exactly this one.
    plain = type(module) is kind and has_no_hooks(module)
    return plain and not _torch_private.has_global_hooks()


def has_no_hooks(module: nn.Module) -> bool:
    """Whether a module itself has no hooks and no ``forward`` but that of its class."""
    # A wrapper that offloads or quantises often replaces forward on the instance.
    return "forward" not in vars(module) and not any(_torch_private.hook_tables(module))


def refuse_unheard_hooks(whole: nn.Module, kinds: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for what was added to parts, of these kinds, that are not called."""
    for path, kind in kinds.items():
        part = whole.get_submodule(path)
        if type(part).forward is not kind.forward or not has_no_hooks(part):
            raise ValueError(
                f"{type(part).__name__} has a hook, an edit, a trace or another forward, "
                f"but a fused attention never calls it; use to_attention() for that."
            )
