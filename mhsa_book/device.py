"""The same random numbers on every device, so that a notebook shows the same results."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


def compute_on(device: torch.device) -> torch.device:
    """From now on make every tensor on a device, and draw random numbers as the CPU does.

    Each device draws other numbers from the same seed. So what is random, parameters of new
    layers too, is drawn on the CPU and moved: a notebook shows the same numbers everywhere.
    On the CPU there is nothing to do. Returns the device.

    >>> compute_on(torch.device("cpu"))
    device(type='cpu')
    """
    if device.type != "cpu":
        torch.set_default_device(device)
        DrawnOnCPU().__enter__()
    return device


class DrawnOnCPU(TorchFunctionMode):
    """While this mode is on, random numbers are drawn on the CPU and moved to their device.

    Without ``device=`` that is torch's default device; a ``generator=`` has to be the CPU's.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func in _NEW:
            device = kwargs.pop("device", None) or _home(args)
            learns = kwargs.pop("requires_grad", False)
            drawn = func(*map(_to_cpu, args), **kwargs, device="cpu")
            return drawn.to(device).requires_grad_(learns)
        if func in _SAMPLED:
            return func(*map(_to_cpu, args), **kwargs).to(_home(args))
        if func in _IN_PLACE:
            tensor, *rest = args
            drawn = func(torch.empty_like(tensor, device="cpu"), *rest, **kwargs)
            return tensor.copy_(drawn)
        return func(*args, **kwargs)


def _to_cpu(value: Any) -> Any:
    return value.cpu() if isinstance(value, Tensor) else value


def _home(args: tuple[Any, ...]) -> torch.device:
    """The device of the first tensor among the arguments, else the default one."""
    tensors = (arg for arg in args if isinstance(arg, Tensor))
    return next((tensor.device for tensor in tensors), torch.get_default_device())


_NEW = {
    torch.rand, torch.randn, torch.randint, torch.randperm,
    torch.rand_like, torch.randn_like, torch.randint_like,
}  # fmt: skip
_SAMPLED = {torch.normal, torch.bernoulli, torch.multinomial, torch.poisson, Tensor.multinomial}
_IN_PLACE = {
    Tensor.uniform_, Tensor.normal_, Tensor.random_, Tensor.bernoulli_, Tensor.exponential_,
    Tensor.log_normal_, Tensor.cauchy_, Tensor.geometric_,
}  # fmt: skip
