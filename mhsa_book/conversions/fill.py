"""Given weights in a module that a reader wrote."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

MAPS = ("W_Q", "W_K", "W_V", "W_O")


def fill(module: nn.Module, weights: Mapping[str, Tensor]) -> nn.Module:
    """Copy matrices into the linear maps ``W_Q``, ``W_K``, ``W_V``, ``W_O`` of a module.

    Parameters
    ----------
    module : has four ``nn.Linear`` of these names, without biases, and nothing else to learn
    weights : a matrix (output, input) for each of them, as ``nn.Linear`` keeps it

    Returns
    -------
    The same module, with these matrices and in their dtype.

    Raises
    ------
    ValueError : for a module with other parameters, or with one of another shape

    Examples
    --------
    >>> own = nn.ModuleDict({name: nn.Linear(4, 4, bias=False) for name in MAPS})
    >>> filled = fill(own, {name: torch.eye(4) for name in MAPS})
    >>> filled["W_Q"](torch.tensor([1.0, 2.0, 3.0, 4.0])).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    has = {name: tuple(p.shape) for name, p in module.named_parameters()}
    needs = {f"{name}.weight": tuple(weights[name].shape) for name in MAPS}
    if has != needs:
        raise ValueError(
            f"the module has {_listed(has)}; needed are {_listed(needs)}. Let it keep "
            f"nn.Linear(d_model, d_model, bias=False) as self.W_Q, self.W_K, self.W_V and "
            f"self.W_O, and no other parameter."
        )
    module.to(weights["W_Q"].dtype)
    with torch.no_grad():
        for name in MAPS:
            module.get_parameter(f"{name}.weight").copy_(weights[name])
    return module


def _listed(shapes: Mapping[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name} {shape}" for name, shape in shapes.items()) or "no parameters"
