"""Say how a wrong result comes from the right function with other arguments.

The right function is the generator here. A mistake that nobody has written down is often the
right function with two arguments exchanged, without its mask, or with another scale, so we
try all such changes in turn, and name the first that explains an answer on every input.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from mhsa_book.exercises.kinds import Trial
from mhsa_lib import masks

Given = dict[str, Any]
Change = Callable[[Given], Given]


def changes(trials: list[Trial]) -> dict[str, Change]:
    """Changes of the arguments that fit a function, by what is to be said of each."""
    given = trials[-1].given
    tensors = [key for key, value in given.items() if _is_real(value)]
    found: dict[str, Change] = {}
    if "mask" in given:
        found |= MASKS
    for one, other in combinations(tensors, 2):
        if given[one].ndim == given[other].ndim:
            found[f"It does what is right with {one} and {other} exchanged."] = _set(
                lambda g, one=one, other=other: {one: g[other], other: g[one]}
            )
            for here, there in ((one, other), (other, one)):
                found[f"It uses {there} where {here} is asked for."] = _set(
                    lambda g, here=here, there=there: {here: g[there]}
                )
    for names in _together(tensors):
        for said, change in TENSORS.items():
            found[said.format(_listed(names), were="was" if len(names) < 2 else "were")] = _set(
                lambda g, names=names, change=change: {name: change(g[name]) for name in names}
            )
    if "n_heads" in given and "W_Q" in given:
        found["There is one head as wide as all of them: nothing is split."] = _set(
            lambda g: {"n_heads": 1}
        )
    if "scale" in given:
        found |= FACTORS
    elif {"q", "k"} <= given.keys():
        found |= {said: _scaled(scale) for said, scale in SCALES.items()}
    elif "n_heads" in given and "W_Q" in given:
        found |= {said: _scaled_by_map(scale) for said, scale in SCALES.items()}
    if {"x", "context"} <= given.keys():
        found |= CONTEXTS
    return found


def _listed(names: tuple[str, ...]) -> str:
    *some, last = names
    return f"{', '.join(some)} and {last}" if some else last


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
    "Transposed: {} should multiply from the right, as x @ W.": lambda t: (
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
        keys = given["context" if "context" in given else "x"].shape[-2]
        sizes = {"queries": seq, "keys": keys, "d_model": d_model}
        sizes["d_head"] = d_model // given["n_heads"]
        return given | {"W_Q": given["W_Q"] * scale(sizes) * sizes["d_head"] ** 0.5}

    return change
