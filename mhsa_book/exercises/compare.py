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
    if unusable(value):
        return f"a {type(value).__name__}"
    try:
        text = repr(value.detach() if isinstance(value, Tensor) else value)
    except Exception:  # an answer may be an object that cannot be shown
        return f"a {type(value).__name__}"
    return text.replace("\n", "\n    ")


def unusable(found: Any) -> str:
    """Say why a tensor has no numbers that can be compared; "" if it has, or is no tensor.

    >>> unusable(torch.eye(2).to_sparse())
    'It is a sparse tensor; make it an ordinary one with .to_dense().'
    """
    if not isinstance(found, Tensor):
        return ""
    if type(found) not in (Tensor, torch.nn.Parameter):
        return f"It is a {type(found).__name__}, not a plain tensor."
    if found.is_nested:
        return "It is a nested tensor, and not a plain one with the same length everywhere."
    if found.is_quantized:
        return "It is a quantised tensor: its numbers are rounded. Return it as it was before."
    if found.layout != torch.strided:
        return "It is a sparse tensor; make it an ordinary one with .to_dense()."
    if found.is_meta:
        return "It is a meta tensor: a shape without numbers."
    if found.is_complex():
        return "It is a complex tensor; the numbers asked for are real."
    return "" if _is_stored(found) else "It is a tensor whose memory has been freed."


def array(found: Any) -> Any:
    """A NumPy array or number as a tensor; anything else as it is."""
    if not hasattr(found, "__array__") or isinstance(found, Tensor):
        return found
    try:
        return torch.as_tensor(found)
    except (TypeError, ValueError):  # an array of objects
        return found


def _is_stored(found: Tensor) -> bool:
    """Whether the memory reaches to the last number: to read beyond it ends the process."""
    steps = zip(found.shape, found.stride(), strict=True)
    last = found.storage_offset() + sum((size - 1) * stride for size, stride in steps)
    stored = found.untyped_storage().nbytes()
    return found.numel() == 0 or (last + 1) * found.element_size() <= stored


def _of_numbers(found: Any, expected: Tensor) -> str:
    found = array(found)
    if isinstance(found, bool) or not isinstance(found, Tensor | int | float):
        return f"It is a {type(found).__name__}, not {_kind(expected)}."
    if said := unusable(found):
        return said
    found = torch.as_tensor(found).detach().cpu()
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
    if isinstance(found, Tensor) and not unusable(found) and found.ndim == 1:
        found = found.tolist()
    if not isinstance(found, tuple | list) or len(found) != len(expected):
        return f"It should be {len(expected)} values."
    each = [difference(one, other) for one, other in zip(found, expected, strict=True)]
    return next((f"Value {i}: {said}" for i, said in enumerate(each) if said), "")


def _as_set(found: Any) -> Any:
    return set(found) if isinstance(found, set | frozenset | list | tuple) else found


def _kind(expected: Tensor) -> str:
    return "a tensor" if expected.ndim else "a number"
