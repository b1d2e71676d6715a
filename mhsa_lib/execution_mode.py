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
    """Whether operations are written down: by ``torch.compile``, ``export`` or ``jit.trace``.

    >>> is_recording()
    False
    """
    return is_compiling() or _torch_private.is_jit_tracing()


def is_transformed() -> bool:
    """Whether ``torch.func`` or forward-mode differentiation is at work.

    >>> torch.func.vmap(lambda x: x + is_transformed())(torch.zeros(2)), is_transformed()
    (tensor([1., 1.]), False)
    """
    return _torch_private.functorch_is_active() or _torch_private.forward_ad_is_active()


def is_eager() -> bool:
    """Whether operations are neither recorded nor transformed.

    >>> is_eager()
    True
    """
    return not (is_recording() or is_transformed())


def is_plain_cpu_tensor(*tensors: Tensor) -> bool:
    """Whether these are numbers in a CPU's memory and operations on them simply run.

    >>> is_plain_cpu_tensor(torch.zeros(2)), is_plain_cpu_tensor(torch.zeros(2, device="meta"))
    (True, False)
    """
    # Fake, distributed and wrapped tensors are of other types, with memory of another kind.
    for t in tensors:
        if type(t) not in (Tensor, nn.Parameter) or not t.is_cpu:
            return False
        if t.layout is not torch.strided:
            return False
    return is_eager()


def is_unmodified(module: nn.Module, kind: type[nn.Module]) -> bool:
    """Whether a module is its parameters and its kind's ``forward``: then they may be read.

    >>> W = nn.Linear(4, 3)
    >>> is_unmodified(W, nn.Linear), is_unmodified(W, nn.Module)
    (True, False)
    """
    # A parametrization makes a subclass, so the type must be exactly this one.
    plain = type(module) is kind and has_no_hooks(module)
    return plain and not _torch_private.has_global_hooks()


def has_no_hooks(module: nn.Module) -> bool:
    """Whether a module itself has no hooks and no ``forward`` but that of its class.

    >>> W = nn.Linear(4, 3)
    >>> has_no_hooks(W)
    True
    >>> W.forward = lambda x: x
    >>> has_no_hooks(W)
    False
    """
    # A wrapper that offloads or quantises often replaces forward on the instance.
    return "forward" not in vars(module) and not _torch_private.has_hooks(module)
