"""What is carried over into a new module: weights, biases, and whether they learn.

A copied parameter learns if the old one does, and a map without a bias gets none: a bias of
zeros would be the same function, and learn to be another.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from mhsa_lib.accept.added import HOOKS, changes_nothing
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.stages import maps_of

Module = TypeVar("Module", bound=nn.Module)


def like(parameter: Tensor, part: Tensor) -> Tensor:
    """A part of a parameter, or what is made of it: it learns if the parameter does.

    >>> W = nn.Linear(2, 6).requires_grad_(False).weight
    >>> [like(W, part).requires_grad for part in W.chunk(3)]
    [False, False, False]
    """
    return part.detach().requires_grad_(parameter.requires_grad)


def cut(parameter: Tensor | None, widths: Sequence[int]) -> list[Any]:
    """The rows of a packed parameter by map; no bias stays none.

    >>> [rows.shape[0] for rows in cut(nn.Linear(2, 6).bias, [2, 4])]
    [2, 4]
    """
    if parameter is None:
        return [None] * len(widths)
    return [like(parameter, part) for part in parameter.detach().split(list(widths))]


def write(to: Tensor, given: Tensor) -> None:
    """Into a parameter that there is; what is frozen stays frozen.

    >>> norm = nn.RMSNorm(2)
    >>> write(norm.weight, torch.tensor([1.0, 2.0]))
    >>> norm.weight.tolist(), norm.weight.requires_grad
    ([1.0, 2.0], False)
    """
    with torch.no_grad():
        to.copy_(given)
    to.requires_grad_(given.requires_grad)


def copy(to: nn.Linear, weight: Tensor, bias: Tensor | None, name: str = "the map") -> None:
    """Fill a map, called ``name`` where it does not fit; what has no bias gets none.

    >>> W = nn.Linear(2, 2)
    >>> copy(W, torch.eye(2).requires_grad_(), None)
    >>> W(torch.ones(2)).tolist(), W.weight.requires_grad, W.bias
    ([1.0, 1.0], True, None)
    """
    for part, given in {"weight": weight, "bias": bias}.items():
        mine = to._parameters[part]
        if given is None:
            to.register_parameter(part, None)
            continue
        if mine is None:
            mine = nn.Parameter(weight.new_empty(to.out_features))
            to.register_parameter(part, mine)
        shaped(f"{name}.{part}", given, tuple(mine.shape))
        write(mine, given)


def fill(attention: MultiHeadAttention, weights: Sequence[Any], biases: Sequence[Any]) -> None:
    """Copy into W_Q, W_K, W_V and W_O, in this order.

    >>> from mhsa_lib import MultiHeadAttention
    >>> mha, W = MultiHeadAttention(2, 1), nn.Linear(2, 2)
    >>> fill(mha, [W.weight] * 4, [None, None, None, W.bias])
    >>> torch.equal(mha.W_O.bias, W.bias)
    True
    """
    maps = maps_of(attention).items()
    for (name, to), weight, bias in zip(maps, weights, biases, strict=True):
        copy(to, weight, bias, name)


def packed(maps: Mapping[str, nn.Linear], why: str, do: str) -> list[Any]:
    """Weight and bias of maps laid one under the other; all of them learn, or none.

    Where one has no bias and others do, zeros are laid, which must not learn; those of W_K may,
    for no bias of keys changes a weight.

    >>> weight, bias = packed({"one": nn.Linear(2, 3), "two": nn.Linear(2, 4)}, "…", "…")
    >>> weight.shape, bias.requires_grad
    (torch.Size([7, 2]), True)
    """
    found: list[Any] = []
    for part in ("weight", "bias"):
        given = {name: getattr(W, part) for name, W in maps.items()}
        there = {f"{name}.{part}": t for name, t in given.items() if t is not None}
        absent = [f"{name}.{part}" for name, t in given.items() if t is None]
        learn = {name for name, t in there.items() if t.requires_grad}
        still = there.keys() - learn or {name for name in absent if name != "W_K.bias"}
        if learn and still:
            raise ValueError(
                f"{min(learn)} learns and {min(still)} is "
                f"{'frozen' if min(still) in there else 'None'}, which {why}: {do}."
            )
        rows = [
            W.weight.new_zeros(W.out_features) if given[name] is None else given[name]
            for name, W in maps.items()
        ]
        whole = torch.cat(rows).detach().requires_grad_(bool(learn)) if there else None
        found.append(whole)
    return found


def shaped(name: str, given: Tensor, wanted: tuple[int, ...]) -> None:
    """A parameter has the shape that the sizes of the attention call for.

    >>> shaped("W_O", torch.zeros(2, 3), (2, 2))
    Traceback (most recent call last):
    ...
    ValueError: W_O has shape (2, 3), not (2, 2), which d_model, d_context, n_heads and ...
    """
    if tuple(given.shape) != wanted:
        raise ValueError(
            f"{name} has shape {tuple(given.shape)}, not {wanted}, which d_model, d_context, "
            f"n_heads and d_head of the attention call for; replace what does not fit."
        )


def copied(module: Module, shared: dict[int, Any] | None = None) -> Module:
    """A copy without the hooks that watch the original; ``shared`` is the memo of deepcopy.

    >>> from mhsa_lib.tracing.hooks import watching
    >>> from mhsa_lib import MultiHeadAttention
    >>> mha = MultiHeadAttention(12, 3)
    >>> handle = mha.register_forward_hook(watching(lambda *_: None))
    >>> len(mha._forward_hooks), len(copied(mha)._forward_hooks)
    (1, 0)
    """
    new = deepcopy(module, shared)
    for each in new.modules():
        for kind in HOOKS:
            hooks = getattr(each, kind) or {}
            for key in [key for key, hook in hooks.items() if changes_nothing(hook)]:
                del hooks[key]
    return new
