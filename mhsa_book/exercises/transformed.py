"""What would make a wrong result right: other arguments, other axes, another kind of number.

The right function is the generator here. A mistake that nobody has written down is often the
right function with two arguments exchanged, or its result with two axes exchanged, so we try
all such changes in turn, and say in words the first that explains the answer on every input.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, permutations
from typing import Any

import torch
from torch import Tensor

from mhsa_book.exercises.calling import call
from mhsa_book.exercises.compare import array, difference, unusable
from mhsa_book.exercises.kinds import Trial
from mhsa_lib import masks

Given = dict[str, Any]
Change = Callable[[Given], Given]

CLOSE = 2e-2
"""Numbers in bfloat16 have two or three digits."""


def is_random(answer: Callable[..., Any], given: Given) -> bool:
    """Whether a second call with the same input gives another result."""
    results = []
    for seed in range(2):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            results.append(array(call(answer, given).found))
    one, other = results
    return isinstance(one, Tensor) and not unusable(one) and bool(difference(other, one))


# --- other arguments --------------------------------------------------------------------------


def arguments(trials: list[Trial]) -> dict[str, Change]:
    """Changes of the arguments that fit a function, by what is to be said of each."""
    given = trials[-1].given
    tensors = [key for key, value in given.items() if _is_real(value)]
    changes: dict[str, Change] = {}
    if "mask" in given:
        changes |= MASKS
    for one, other in combinations(tensors, 2):
        if given[one].ndim == given[other].ndim:
            changes[f"It does what is right with {one} and {other} exchanged."] = _set(
                lambda g, one=one, other=other: {one: g[other], other: g[one]}
            )
            for here, there in ((one, other), (other, one)):
                changes[f"It uses {there} where {here} is asked for."] = _set(
                    lambda g, here=here, there=there: {here: g[there]}
                )
    for names in _together(tensors):
        for said, change in TENSORS.items():
            changes[
                said.format(" and ".join(names), were="was" if len(names) < 2 else "were")
            ] = _set(
                lambda g, names=names, change=change: {name: change(g[name]) for name in names}
            )
    if "n_heads" in given and "W_Q" in given:
        changes["There is one head as wide as all of them: nothing is split."] = _set(
            lambda g: {"n_heads": 1}
        )
    if "scale" in given:
        changes |= FACTORS
    elif {"q", "k"} <= given.keys():
        changes |= {said: _scaled(scale) for said, scale in SCALES.items()}
    elif "n_heads" in given and "W_Q" in given:
        changes |= {said: _scaled_by_map(scale) for said, scale in SCALES.items()}
    if {"x", "context"} <= given.keys():
        changes |= CONTEXTS
    return changes


def _set(new: Callable[..., Given]) -> Change:
    return lambda given: given | new(given)


def _is_real(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _together(tensors: list[str]) -> Iterator[tuple[str, ...]]:
    """Each tensor alone, keys with values, and all matrices."""
    yield from ((name,) for name in tensors)
    for names in (("k", "v"), ("q", "k", "v"), ("W_Q", "W_K", "W_V", "W_O")):
        if {*names} <= {*tensors}:
            yield names


def _masked(new: Callable[[Tensor], Any]) -> Change:
    return _set(lambda g: {} if g["mask"] is None else {"mask": new(g["mask"])})


def _also_hidden(given: Given, triangle: Callable[[int, int], Tensor]) -> Given:
    queries, keys = (given["q"], given["k"]) if "q" in given else (given["x"], given["x"])
    causal = triangle(queries.shape[-2], keys.shape[-2])
    return {"mask": causal if given["mask"] is None else causal & given["mask"]}


MASKS: dict[str, Change] = {
    "The mask changes nothing.": _masked(lambda mask: None),
    "The mask is the wrong way round: True means that a query may look at a key.": _masked(
        lambda mask: ~mask
    ),
    "The mask is transposed: its rows are queries, its columns are keys.": _masked(
        lambda mask: mask.mT
    ),
    "Without a mask, it hides the future all the same.": _set(
        lambda g: _also_hidden(g, masks.causal.dense) if g["mask"] is None else {}
    ),
    "Whatever the mask is, it hides the future as well.": _set(
        lambda g: _also_hidden(g, masks.causal.dense)
    ),
    "It hides keys by a triangle from the top left corner, whatever the mask is.": _set(
        lambda g: _also_hidden(g, lambda n, m: torch.ones(n, m, dtype=torch.bool).tril())
    ),
}
TENSORS: dict[str, Callable[[Tensor], Tensor]] = {
    "The matrices are transposed: {} should multiply from the right, as x @ W.": lambda t: (
        t.mT if t.ndim == 2 else _refuse()
    ),
    "It does as if {} {were} the identity: is the product with it forgotten?": lambda t: (
        torch.eye(len(t)) if t.ndim == 2 else _refuse()
    ),
    "The heads of {} are in reverse order.": lambda t: t.flip(1) if t.ndim == 4 else _refuse(),
    "Of {}, only the first head is used.": lambda t: t[:, :1] if t.ndim == 4 else _refuse(),
    "The heads of {} are averaged into one.": lambda t: (
        t.mean(1, keepdim=True) if t.ndim == 4 else _refuse()
    ),
    "The oldest token of {} is dropped.": lambda t: t[..., 1:, :] if t.ndim > 2 else _refuse(),
    "The last token of {} is not used.": lambda t: t[..., :-1, :] if t.ndim > 2 else _refuse(),
    "The order of the tokens in {} is reversed.": lambda t: (
        t.flip(-2) if t.ndim > 2 else _refuse()
    ),
}
CONTEXTS: dict[str, Change] = {
    "Queries look at the words of x as well as at those of context.": _set(
        lambda g: {"context": torch.cat([g["x"], g["context"]], 1)}
    ),
    "The words of context are averaged to one row before anybody asks.": _set(
        lambda g: {"context": g["context"].mean(1, keepdim=True)}
    ),
    "Of context, only as many words are used as x has.": _set(
        lambda g: {"context": g["context"][:, : g["x"].shape[1]]}
    ),
}


def _refuse() -> Tensor:
    raise LookupError("this change does not fit such a tensor")


Sizes = Mapping[str, int]
SCALES: dict[str, Callable[[Sizes], float]] = {
    "The scale is missing.": lambda n: 1.0,
    "The scale is applied twice: 1/d_head in place of 1/√d_head.": lambda n: 1 / n["d_head"],
    "It multiplies by √d_head in place of dividing.": lambda n: n["d_head"] ** 0.5,
    "The scale is 1/√d_model; each head has only d_head numbers.": lambda n: (
        n["d_model"] ** -0.5
    ),
    "The scale is 1/√(number of queries); it should come from d_head.": lambda n: (
        n["queries"] ** -0.5
    ),
    "The scale is 1/√(number of keys); it should come from d_head.": lambda n: (
        n["keys"] ** -0.5
    ),
    "The scale is 1/8 whatever d_head is: read d_head off a shape.": lambda n: 0.125,
}
"""What queries may be multiplied by in place of 1/√d_head."""


FACTORS: dict[str, Change] = {
    "The scale is missing.": _set(lambda g: {"scale": 1.0}),
    "It divides by scale; multiply.": _set(lambda g: {"scale": 1 / g["scale"]}),
    "The scale is applied twice.": _set(lambda g: {"scale": g["scale"] ** 2}),
    "It computes 1/√d_head, and does not look at scale.": _set(
        lambda g: {"scale": g["q"].shape[-1] ** -0.5}
    ),
}
"""The same where the scale is an argument."""


def _scaled(scale: Callable[[Sizes], float]) -> Change:
    """Queries that have a factor on top of the right scale."""

    def change(given: Given) -> Given:
        q, k = given["q"], given["k"]
        sizes = {"d_head": q.shape[-1], "queries": q.shape[-2], "keys": k.shape[-2]}
        sizes["d_model"] = q.shape[1] * q.shape[-1]
        return given | {"q": q * scale(sizes) * q.shape[-1] ** 0.5}

    return change


def _scaled_by_map(scale: Callable[[Sizes], float]) -> Change:
    def change(given: Given) -> Given:
        seq, d_model = given["x"].shape[-2:]
        keys = given.get("context", given["x"]).shape[-2]
        sizes = {"queries": seq, "keys": keys, "d_model": d_model}
        sizes["d_head"] = d_model // given["n_heads"]
        return given | {"W_Q": given["W_Q"] * scale(sizes) * sizes["d_head"] ** 0.5}

    return change


# --- another result ---------------------------------------------------------------------------


def result(trials: list[Trial], axes: list[str]) -> str:
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
    names = axes if len(axes) == ndim else [f"axis {i}" for i in range(ndim)]
    asked = ", ".join(names)
    ways: dict[str, Callable[[Tensor], Tensor]] = {}
    for order in permutations(range(ndim)):
        if order != (*range(ndim),):
            yours = ", ".join(names[i] for i in order)
            ways[f"The axes are ({yours}); asked for is ({asked})."] = lambda t, order=order: (
                t.permute(order)
            )
    for i, name in enumerate(names):
        ways[REVERSED.get(name, f"The axis {name} is in reverse order.")] = lambda t, i=i: (
            t.flip(i)
        )
        ways[f"The axis {name} is summed away."] = lambda t, i=i: t.sum(i)
        ways[f"The axis {name} is averaged away."] = lambda t, i=i: t.double().mean(i)
    for i in range(ndim - 1):
        both = f"{names[i]} and {names[i + 1]}"
        ways[f"The axes {both} are merged into one; asked for is ({asked})."] = lambda t, i=i: (
            t.flatten(i, i + 1)
        )
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
        if all(_is_real(each) for each in given):
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
            why = _first(_rearranged(each[-1][0].ndim, []), each)
            return f"In value {i}: {why}" if why else ""
    return ""
