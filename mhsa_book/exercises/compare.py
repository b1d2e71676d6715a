"""Whether two answers are the same, and how to show one."""

from typing import Any

import torch
from torch import Tensor


def difference(found: Any, expected: Any) -> str:
    """Say how an answer differs from what was expected; "" if it does not.

    Numbers and tensors are the same to five digits; a number may be a tensor of one element.

    >>> difference(torch.zeros(2, 3), torch.zeros(3, 2))
    'The shape is (2, 3), not (3, 2).'
    >>> difference(0.1 + 0.2, 0.3)
    ''
    """
    if isinstance(expected, tuple | list):
        return _of_several(found, expected)
    if isinstance(expected, set | frozenset):
        return "" if _as_set(found) == set(expected) else "It is another set."
    if isinstance(expected, Tensor | int | float) and not isinstance(expected, bool):
        return _of_numbers(found, torch.as_tensor(expected))
    if isinstance(expected, bool):
        found = found.item() if isinstance(found, Tensor) and found.numel() == 1 else found
    if isinstance(found, Tensor):
        return "It is a tensor."
    return "" if type(found) is type(expected) and found == expected else "It is another one."


def shown(value: Any) -> str:
    """An answer as text; a tensor as the notebook prints it.

    >>> shown(torch.zeros(2, requires_grad=True))
    'tensor([0., 0.])'
    """
    text = repr(value.detach() if isinstance(value, Tensor) else value)
    return text.replace("\n", "\n    ")


def _of_numbers(found: Any, expected: Tensor) -> str:
    if isinstance(found, bool) or not isinstance(found, Tensor | int | float):
        return f"It is a {type(found).__name__}, not {_kind(expected)}."
    found = torch.as_tensor(found).detach()
    if expected.ndim == 0 and found.numel() == 1:
        found = found.reshape(())
    if found.shape != expected.shape:
        return f"The shape is {tuple(found.shape)}, not {tuple(expected.shape)}."
    if (found.dtype == torch.bool) != (expected.dtype == torch.bool):
        return f"The dtype is {found.dtype}, not {expected.dtype}."
    found, expected = found.double(), expected.detach().double()
    same = torch.isclose(found, expected, rtol=1e-5, atol=1e-5, equal_nan=True)
    return "" if same.all() else "The numbers differ." if same.ndim else "It is another number."


def _of_several(found: Any, expected: Any) -> str:
    found = found.tolist() if isinstance(found, Tensor) and found.ndim == 1 else found
    if not isinstance(found, tuple | list) or len(found) != len(expected):
        return f"It should be {len(expected)} values."
    each = [difference(one, other) for one, other in zip(found, expected, strict=True)]
    return next((f"Value {i}: {said}" for i, said in enumerate(each) if said), "")


def _as_set(found: Any) -> Any:
    return set(found) if isinstance(found, set | frozenset | list | tuple) else found


def _kind(expected: Tensor) -> str:
    return "a tensor" if expected.ndim else "a number"
