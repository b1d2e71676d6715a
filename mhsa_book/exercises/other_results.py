"""Say how a wrong result comes from the right one: by other axes, or another kind of number."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise, permutations
from typing import Any

import torch
from torch import Tensor

from mhsa_book.exercises.calling import call
from mhsa_book.exercises.compare import array, difference, unusable
from mhsa_book.exercises.kinds import Trial

CLOSE = 2e-2
"""Numbers in bfloat16 have two or three digits."""


def is_random(answer: Callable[..., Any], given: dict[str, Any]) -> bool:
    """Whether a second call with the same input gives another result."""
    results = []
    for seed in range(2):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            results.append(array(call(answer, given).found))
    one, other = results
    return isinstance(one, Tensor) and not unusable(one) and bool(difference(other, one))


def explained(trials: list[Trial], axes: list[str]) -> str:
    """Say how the results come from the right ones; "" if we see no way."""
    returned = [(t, array(t.call.found)) for t in trials if t.call.raised is None]
    if not any(trial.differs for trial, _ in returned):
        return ""
    if all(isinstance(trial.expected, tuple) for trial in trials):
        return _of_several([(t.expected, f) for t, f in returned])
    if not all(isinstance(trial.expected, Tensor) for trial in trials):
        return ""
    pairs = [(trial.expected, found) for trial, found in returned]
    if all(isinstance(found, tuple | list) for _, found in pairs):
        return _of_a_list(pairs)
    if any(not isinstance(found, Tensor) or unusable(found) for _, found in pairs):
        return ""
    return (
        _first(_renumbered(), pairs)
        or _first(_rearranged(pairs[-1][0].ndim, axes), pairs)
        or _not_merged(pairs, axes)
        or _with_ones(pairs)
        or _added(returned)
        or _last_missing(pairs, axes)
        or _half(pairs)
        or _other_sizes(pairs, axes)
    )


def _first(ways: Mapping[str, Callable[[Tensor], Tensor]], pairs: list[Any]) -> str:
    """Say the first way that makes every found result out of the right one."""
    return next((why for why, way in ways.items() if all(_made(way, *p) for p in pairs)), "")


def _made(way: Callable[[Tensor], Tensor], expected: Tensor, found: Any) -> bool:
    try:
        made = way(expected)
    except (RuntimeError, IndexError):  # the way does not fit this shape
        return False
    return not difference(found, made)


def _renumbered() -> dict[str, Callable[[Tensor], Tensor]]:
    """Results of other numbers in the same places."""
    return {
        "True and False are exchanged: True means that a query may look.": lambda t: (
            ~t if t.dtype == torch.bool else _refused()
        ),
        "The right places, but as numbers 1 and 0; return booleans.": lambda t: (
            t.double() if t.dtype == torch.bool else _refused()
        ),
        "It is a mask to be added, 0 and −∞; return booleans.": lambda t: _to_add(
            t, -torch.inf
        ),
        "It is a mask to be added, 0 and −10⁹; return booleans.": lambda t: _to_add(t, -1e9),
        "It is the logarithm of the right result.": lambda t: t.log(),
        "A softmax has been applied already.": lambda t: torch.softmax(t, -1),
        "The sign is the wrong way round.": lambda t: -t.double(),
    }


def _to_add(t: Tensor, low: float) -> Tensor:
    if t.dtype != torch.bool:
        raise RuntimeError("no mask")
    return torch.zeros(t.shape).masked_fill(~t, low)


REVERSED = {"head": "The heads are in reverse order."}


def _rearranged(ndim: int, axes: list[str]) -> dict[str, Callable[[Tensor], Tensor]]:
    """Results whose axes are in another order, merged, reversed or averaged."""
    names = axes if len(axes) == ndim else [f"{i}" for i in range(ndim)]
    asked = ", ".join(names)
    ways: dict[str, Callable[[Tensor], Tensor]] = {}
    for order in permutations(range(ndim)):
        if order != (*range(ndim),):
            yours = ", ".join(names[i] for i in order)
            said = f"The axes are ({yours}); asked for is ({asked})."
            ways[said] = partial(torch.permute, dims=order)
    for i, name in enumerate(names):
        reverse = REVERSED.get(name, f"The axis {name} is in reverse order.")
        ways[reverse] = partial(torch.flip, dims=(i,))
        ways[f"The axis {name} is summed away."] = partial(torch.sum, dim=i)
        ways[f"The axis {name} is averaged away."] = partial(torch.mean, dim=i)
    for i, (name, other) in enumerate(pairwise(names)):
        said = f"The axes {name} and {other} are merged into one; asked for is ({asked})."
        ways[said] = partial(torch.flatten, start_dim=i, end_dim=i + 1)
    return ways


def _refused() -> Tensor:
    raise RuntimeError("this way does not fit such a tensor")


def _not_merged(pairs: list[Any], axes: list[str]) -> str:
    """Whether two axes of a found result should be one."""
    for i in range(pairs[0][1].ndim - 1):
        if all(f.ndim > i + 1 and not difference(f.flatten(i, i + 1), e) for e, f in pairs):
            return f"Merge the axes {i} and {i + 1}: asked for is ({', '.join(axes)})."
    return ""


def _with_ones(pairs: list[Any]) -> str:
    """Whether the numbers are right but for axes of size 1."""
    if any([n for n in f.shape if n > 1] != [n for n in e.shape if n > 1] for e, f in pairs):
        return ""
    if any(difference(f.reshape(e.shape), e) for e, f in pairs):
        return ""
    return "The numbers are right, but there are axes of size 1 too many or too few."


def _added(returned: list[tuple[Trial, Any]]) -> str:
    """Whether an argument has been added to the result, or is the result."""
    for name in returned[-1][0].given:
        given = [trial.given[name] for trial, _ in returned]
        if all(isinstance(each, Tensor) for each in given):
            if all(
                not difference(found, each)
                for each, (_, found) in zip(given, returned, strict=True)
            ):
                return f"It returns {name} as it came."
            if all(
                t.expected.shape == each.shape and not difference(found, t.expected + each)
                for each, (t, found) in zip(given, returned, strict=True)
            ):
                return f"{name} is added to the result; that is done elsewhere in a model."
    return ""


def _last_missing(pairs: list[Any], axes: list[str]) -> str:
    """Whether all is right but one end of an axis."""
    wrong = [(e, f) for e, f in pairs if difference(f, e)]
    if not wrong or any(f.shape != e.shape or e.dtype == torch.bool for e, f in wrong):
        return ""
    for axis in range(wrong[0][0].ndim):
        for end, rest, where in ((-1, slice(0, -1), "last"), (0, slice(1, None), "first")):
            cut = [(slice(None),) * axis + (rest,) for _ in wrong]
            if all(
                e.shape[axis] > 1 and not difference(f[c], e[c])
                for c, (e, f) in zip(cut, wrong, strict=True)
            ):
                name = axes[axis] if axis < len(axes) else f"place of axis {axis}"
                empty = all(not f.select(axis, end).any() for _, f in wrong)
                return f"All is right but the {where} {name}{': it is 0' if empty else ''}."
    return ""


def _half(pairs: list[Any]) -> str:
    """Whether the first two or three digits are right."""
    if any(
        f.shape != e.shape or e.dtype == torch.bool or not f.isfinite().all() for e, f in pairs
    ):
        return ""
    far = max(
        float((f.double() - e.double()).abs().max() / e.double().abs().max().clamp_min(1e-9))
        for e, f in pairs
    )
    if far > CLOSE:
        return ""
    return "Only two or three digits are right: is something computed in half precision?"


def _other_sizes(pairs: list[Any], axes: list[str]) -> str:
    """Which axis has another length than asked for."""
    expected, found = next(
        ((e, f) for e, f in pairs if f.shape != e.shape), (torch.zeros(0), torch.zeros(0))
    )
    names = axes if len(axes) == expected.ndim else []
    if found.ndim != expected.ndim or not names:
        return ""
    other = [
        f"the axis {name if name != '1' else 'of size 1'} has {is_} in place of {be}"
        for name, is_, be in zip(names, found.shape, expected.shape, strict=True)
        if is_ != be
    ]
    return f"Of ({', '.join(names)}), {' and '.join(other)}." if other else ""


def _of_a_list(pairs: list[Any]) -> str:
    """Whether a list or tuple holds the right numbers."""
    for i in range(len(pairs[0][1])):
        if all(len(f) > i and not difference(f[i], e) for e, f in pairs):
            n = len(pairs[0][1])
            return f"It returns {n} values, and number {i} is right: return it alone."
    for dim in range(pairs[0][0].ndim):
        if all(_is_stack(e, f, dim) for e, f in pairs):
            return f"It is several tensors; torch.stack(…, dim={dim}) makes one of them."
    if all(_is_listed(e, f) for e, f in pairs):
        return "It is a list with the right numbers; make it a tensor with torch.tensor(…)."
    return ""


def _is_stack(expected: Tensor, found: Any, dim: int) -> bool:
    try:
        return not difference(torch.stack([*found], dim), expected)
    except (TypeError, RuntimeError):
        return False


def _is_listed(expected: Tensor, found: Any) -> bool:
    try:
        return not difference(torch.tensor(found), expected)
    except (TypeError, ValueError, RuntimeError):
        return False


def _of_several(pairs: list[Any]) -> str:
    """What is wrong where several tensors are asked for."""
    n = len(pairs[0][0])
    for i in range(n):
        if all(isinstance(f, Tensor) and not difference(f, e[i]) for e, f in pairs):
            return f"It returns value {i} alone, and that one is right; {n} are asked for."
    if not all(isinstance(f, tuple | list) and len(f) == n for _, f in pairs):
        return ""
    for order in permutations(range(n)):
        if all(not difference(f, tuple(e[i] for i in order)) for e, f in pairs):
            return "The right tensors, but in another order."
    for i in range(n):
        if any(difference(f[i], e[i]) for e, f in pairs):
            each = [(e[i], array(f[i])) for e, f in pairs]
            if any(not isinstance(f, Tensor) or unusable(f) for _, f in each):
                return ""
            why = _with_ones(each) or _first(_rearranged(each[-1][0].ndim, []), each)
            return f"In value {i}: {why}" if why else ""
    return ""
