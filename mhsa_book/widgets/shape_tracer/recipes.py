"""The ledger of an attention as it was built, for any number of sequences and tokens.

Read off traces of the attention itself: the axes of every wire, which results are views, how
its FLOPs grow, and which learned numbers it is the first to use.
"""

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from mhsa_lib.tracing.wires import Wires, trace

GROWING = ("batch", "query", "key")


def traced_at(attention: Any, batch: int, seq: int) -> Wires:
    """A trace on zeros, with the attention's own dtype and device."""
    x = _zeros(attention, batch, seq)
    with torch.no_grad(), trace(attention) as wires:
        attention(x)
    return wires


def recipe_of(attention: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Rows of the ledger, and every axis whose size does not depend on the input.

    ``terms`` of a row are FLOPs c + batch · (a n + b n²), as [c, a, b]. Raises ``ValueError``
    if the FLOPs of a wire grow in another way.

    >>> from mhsa_lib import MultiHeadAttention
    >>> recipe, fixed = recipe_of(MultiHeadAttention(12, 3))
    >>> fixed
    {'d_heads': 12, 'd_kv_heads': 12, 'head': 3, 'd_head': 4, 'kv_head': 3, 'd_model': 12}
    >>> rows = {row["wire"]: row for row in recipe}
    >>> rows["q"]["terms"], rows["scores"]["terms"], rows["y"]["learned"]
    ([0, 288, 0], [0, 0, 24], 144)
    """
    at = {(b, n): traced_at(attention, b, n) for b, n in ((1, 2), (1, 3), (1, 5), (2, 7))}
    ones = {"batch": traced_at(attention, 1, 7), "query": traced_at(attention, 2, 1)}
    learned = _learned(attention)
    rows = []
    for wire, step in at[2, 7].steps.items():
        flops = {size: wires.steps[wire].flops for size, wires in at.items()}
        names = learned.get(wire, {})
        rows.append(
            {
                "wire": wire,
                "axes": list(step.axes),
                "result": step.result,
                "view_at_one": [a for a in ones if ones[a].steps[wire].result != step.result],
                "terms": _terms(wire, flops),
                "learned": sum(names.values()),
                "weight": ", ".join(names),
            }
        )
    sizes = at[2, 7].sizes
    return rows, {axis: size for axis, size in sizes.items() if axis not in GROWING}


def _terms(wire: str, flops: dict[tuple[int, int], int]) -> list[int]:
    """The parabola through three lengths; two sequences of seven tokens have to lie on it."""
    two, three, five = flops[1, 2], flops[1, 3], flops[1, 5]
    square = (five - 3 * three + 2 * two) // 6
    slope = three - two - 5 * square
    constant = two - 2 * slope - 4 * square
    if flops[2, 7] != constant + 2 * (7 * slope + 49 * square):
        raise ValueError(
            f"the FLOPs of wire {wire!r} are {flops} for (batch, seq); a dial follows only "
            f"those that grow with seq and its square."
        )
    return [constant, slope, square]


def _learned(attention: Any) -> dict[str, dict[str, int]]:
    """The parameters that each wire is the first to depend on, with their sizes."""
    attention = deepcopy(attention).requires_grad_(True)
    left = dict(attention.named_parameters())
    found: dict[str, dict[str, int]] = {}
    with torch.enable_grad(), trace(attention) as wires:
        attention(_zeros(attention, 1, 2).requires_grad_())
    for wire, value in wires.items():
        for path in _behind(value, left):
            parameter = left.pop(path)
            name = path.removesuffix(".weight").removesuffix(".bias").rpartition(".")[2]
            sizes = found.setdefault(wire, {})
            sizes[name] = sizes.get(name, 0) + parameter.numel()
    return found


def _behind(value: Tensor, parameters: dict[str, Tensor]) -> list[str]:
    """Which parameters a value was computed with."""
    if not (value.requires_grad and parameters):
        return []
    gradients = torch.autograd.grad(
        value.sum(), list(parameters.values()), retain_graph=True, allow_unused=True
    )
    return [path for path, g in zip(parameters, gradients, strict=True) if g is not None]


def _zeros(attention: Any, batch: int, seq: int) -> Tensor:
    like = next(attention.parameters())
    return torch.zeros(batch, seq, attention.d_model, dtype=like.dtype, device=like.device)
