"""How operations are being executed: simply run, or recorded, or transformed.

A kernel of another library, and an ``autograd.Function``, do what PyTorch does while operations
simply run on tensors that simply hold numbers. What is recorded is run again with other sizes,
and what is transformed carries tangents or batches that such a kernel would not see. There
PyTorch's own operations do the work.
"""

import torch
from torch import Tensor, nn
from torch.compiler import is_compiling

from mhsa_lib import _torch_private
from mhsa_lib._torch_private import functorch_is_active, is_jit_tracing


def is_recording() -> bool:
    """Whether operations are written down: by ``torch.compile``, ``export`` or ``jit.trace``.

    >>> is_recording()
    False
    """
    return is_compiling() or is_jit_tracing()


def is_transformed() -> bool:
    """Whether ``torch.func`` or forward-mode differentiation is at work.

    >>> torch.func.vmap(lambda x: x + is_transformed())(torch.zeros(2)), is_transformed()
    (tensor([1., 1.]), False)
    """
    return functorch_is_active() or _torch_private.forward_ad_is_active()


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
    for t in tensors:
        # Fake, distributed and wrapped tensors are of other types.
        if type(t) not in (Tensor, nn.Parameter) or not t.is_cpu:
            return False
        if t.layout is not torch.strided:
            return False
    return is_eager()


def is_unmodified(module: nn.Module, kind: type[nn.Module]) -> bool:
    """Whether a module is its parameters and its kind's ``forward``: then they may be read.

    A subclass, a parametrization (which makes one), hooks and a replaced ``forward`` say no.

    >>> W = nn.Linear(4, 3)
    >>> is_unmodified(W, nn.Linear), is_unmodified(W, nn.Module)
    (True, False)
    >>> hook = W.register_forward_hook(lambda module, args, y: 0 * y)
    >>> is_unmodified(W, nn.Linear)
    False
    """
    return (
        type(module) is kind and has_no_hooks(module) and not _torch_private.has_global_hooks()
    )


def has_no_hooks(module: nn.Module) -> bool:
    """Whether a module itself has no hooks and no ``forward`` but that of its class.

    >>> W = nn.Linear(4, 3)
    >>> has_no_hooks(W)
    True
    >>> W.forward = lambda x: x
    >>> has_no_hooks(W)
    False
    """
    return "forward" not in vars(module) and not _torch_private.has_hooks(module)
