"""Numbers and nothing else: where a kernel of our own may stand in for PyTorch's.

A product computed by another library, and an ``autograd.Function``, do what PyTorch does while
operations simply run, on tensors that simply hold numbers. What is recorded is run again with
other sizes; what is transformed carries tangents or batches that such a kernel would not see.
There PyTorch's own operations do the work.
"""

import torch
from torch import Tensor, nn
from torch._C import _are_functorch_transforms_active, _is_tracing
from torch.autograd import forward_ad
from torch.compiler import is_compiling
from torch.nn.modules import module as of_all


def recorded() -> bool:
    """Whether operations are written down: by ``torch.compile``, ``export`` or ``jit.trace``.

    >>> recorded()
    False
    """
    return is_compiling() or _is_tracing()


def transformed() -> bool:
    """Whether ``torch.func`` or forward-mode differentiation is at work.

    >>> torch.func.vmap(lambda x: x + transformed())(torch.zeros(2)), transformed()
    (tensor([1., 1.]), False)
    """
    return _are_functorch_transforms_active() or forward_ad._current_level >= 0


def only_run() -> bool:
    """Whether operations are neither recorded nor transformed; for paths that count every call.

    >>> only_run()
    True
    """
    return not (
        is_compiling()
        or _is_tracing()
        or _are_functorch_transforms_active()
        or forward_ad._current_level >= 0
    )


def plain(*tensors: Tensor) -> bool:
    """Whether these are numbers in a CPU's memory and nothing but running is done with them.

    >>> plain(torch.zeros(2)), plain(torch.zeros(2, device="meta"))
    (True, False)
    """
    for t in tensors:  # a fake, a distributed or a wrapped tensor is of another type
        if type(t) not in (Tensor, nn.Parameter) or not t.is_cpu:
            return False
        if t.layout is not torch.strided:
            return False
    return only_run()


def bare(module: nn.Module, kind: type[nn.Module]) -> bool:
    """Whether a module is its parameters and its kind's ``forward``: then they may be read.

    A subclass, a parametrization (which makes one), hooks and a replaced ``forward`` say no.

    >>> W = nn.Linear(4, 3)
    >>> bare(W, nn.Linear), bare(W, nn.Module)
    (True, False)
    >>> hook = W.register_forward_hook(lambda module, args, y: 0 * y)
    >>> bare(W, nn.Linear)
    False
    """
    return (
        type(module) is kind
        and untouched(module)
        and not (
            of_all._global_forward_hooks
            or of_all._global_forward_pre_hooks
            or of_all._global_backward_hooks
            or of_all._global_backward_pre_hooks
        )
    )


def untouched(module: nn.Module) -> bool:
    """Whether a module itself has no hooks and no ``forward`` but that of its class.

    >>> W = nn.Linear(4, 3)
    >>> untouched(W)
    True
    >>> W.forward = lambda x: x
    >>> untouched(W)
    False
    """
    return not (
        "forward" in vars(module)
        or module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
    )
