"""How operations are being executed: simply run, or recorded, or transformed.

A kernel of another library, and an ``autograd.Function``, are right only while operations run
at once on plain numbers: what is recorded runs again with other sizes, and what is transformed
carries tangents or batches that such a kernel would not see.
"""

import torch
from torch import Tensor, nn
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


def is_plain_cpu_tensor(*tensors: Tensor) -> bool:
    """Whether these are numbers in a CPU's memory and operations on them simply run."""
    # Fake, distributed and wrapped tensors are of other types, with memory of another kind.
    return is_eager() and all(
        type(t) in (Tensor, nn.Parameter) and t.is_cpu and t.layout is torch.strided
        for t in tensors
    )


def is_unmodified(module: nn.Module, kind: type[nn.Module]) -> bool:
    """Whether a module is its parameters and its kind's ``forward``: then they may be read."""
    # A parametrization makes a subclass, so the type must be exactly this one.
    plain = type(module) is kind and has_no_hooks(module)
    return plain and not _torch_private.has_global_hooks()


def has_no_hooks(module: nn.Module) -> bool:
    """Whether a module itself has no hooks and no ``forward`` but that of its class."""
    # A wrapper that offloads or quantises often replaces forward on the instance.
    return "forward" not in vars(module) and not any(_torch_private.hook_tables(module))
