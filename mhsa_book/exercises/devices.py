"""Exercises of chapter 20, heads across devices."""

from types import EllipsisType
from typing import Any

import torch
from torch import Tensor

from mhsa_book.exercises.drawn_inputs import drawn
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.copying import copied
from mhsa_lib.variants import GroupedQueryAttention

D_MODEL, N_HEADS, N_KV_HEADS, RANKS = 8192, 64, 8, 8
PACKED = {"queries": 16, "keys": 4, "values": 4}
"""Rows of W_QKV with 8 heads on 2 heads of keys, of width 2."""

Size = tuple[int, int]


def held() -> tuple[Size, Size, Size, Size]:
    """What one rank holds: heads, and the shapes of its W_Q, W_K and W_O."""
    with torch.device("meta"):
        layer = GroupedQueryAttention(D_MODEL, N_HEADS, N_KV_HEADS)
    maps = (layer.project.W_Q, 0), (layer.project.W_K, 0), (layer.W_O, 1)
    W_Q, W_K, W_O = (_size(W.weight.chunk(RANKS, axis)[0]) for W, axis in maps)
    return (N_HEADS // RANKS, N_KV_HEADS // RANKS), W_Q, W_K, W_O


def _size(W: Tensor) -> Size:
    return W.shape[0], W.shape[1]


def misplaced(rows: Any) -> str:
    """What is wrong with the rows that rank 0 of 2 takes from a packed W_QKV; "" if nothing."""
    everything = torch.arange(sum(PACKED.values()))
    parts = everything.split(list(PACKED.values()))
    needed = torch.cat([part.chunk(2)[0] for part in parts])
    taken = everything[rows]
    if taken.ndim != 1:
        return "Hand over the numbers of the rows, one after the other."
    if taken.equal(needed):
        return ""
    found = {
        name: int(torch.isin(taken, part).sum())
        for name, part in zip(PACKED, parts, strict=True)
    }
    if list(found.values()) != [size // 2 for size in PACKED.values()]:
        return f"It takes {_listed(found)}; a rank needs half of each."
    if taken.sort().values.equal(needed):
        return "The right rows in another order: queries, then keys, then values."
    return "Half of each, but not the first half: rank 0 has the first heads."


def _listed(found: dict[str, int]) -> str:
    counts = [f"{number} rows of {name}" for name, number in found.items()]
    return f"{', '.join(counts[:-1])} and {counts[-1]}"


def unlike(repeated: Any) -> str | EllipsisType:
    """What is wrong with a function that repeats heads of keys; dots if it does nothing yet."""
    if not callable(repeated):
        return "Define repeated(attention, times) and hand it over."
    for n_heads, n_kv_heads, times in ((2, 1, 2), (8, 2, 2), (8, 2, 4)):
        old = _drawn(n_heads, n_kv_heads)
        given = f"With {n_kv_heads} heads of keys, times={times}: "
        new = repeated(copied(old), times)
        if new is ... or new is None:
            return ...
        if fault := _differs(old, new, times):
            return given.replace("1 heads", "1 head") + fault
    return ""


def _drawn(n_heads: int, n_kv_heads: int) -> GroupedQueryAttention:
    with torch.random.fork_rng(devices=[]):
        attention = GroupedQueryAttention(2 * n_heads, n_heads, n_kv_heads).double()
    for seed, W in enumerate(attention.parameters(), start=1):
        W.data = drawn(*W.shape, seed=seed).double()
    return attention


def _differs(old: GroupedQueryAttention, new: Any, times: int) -> str:
    if not isinstance(new, MultiHeadAttention):
        return f"it gives {type(new).__name__}, which is no attention."
    wanted, found = times * old.n_kv_heads, getattr(new, "n_kv_heads", new.n_heads)
    if found != wanted:
        return f"the new attention has {found} heads of keys, not {wanted}."
    for name in ("W_K", "W_V"):
        W, made = getattr(old.project, name).weight, getattr(new.project, name).weight
        heads = W.unflatten(0, (old.n_kv_heads, -1))
        if made.shape != (times * len(W), W.shape[1]):
            return f"{name} has {len(made)} rows, not {times * len(W)}."
        if _same(made, heads.repeat_interleave(times, dim=0).flatten(0, 1)):
            continue
        if _same(made, heads.repeat(times, 1, 1).flatten(0, 1)):
            return f"{name} is laid out k₁ k₂ k₁ k₂, but heads of a group stand side by side."
        return f"{name} does not hold each old head {times} times in a row."
    x = drawn(3, old.d_model, seed=9).to(new.W_O.weight)
    with torch.no_grad():
        same = _same(new(x), old(x.double()))
    return "" if same else "y is another one, though keys and values are right."


def _same(found: Tensor, wanted: Tensor) -> bool:
    return torch.allclose(found.double(), wanted, atol=1e-4)


_ONE, _KEYS = (8, 1), (128, 8192)
EXERCISES: dict[str, Exercise] = {
    "shapes_of_a_rank": Value(
        held,
        because="Outputs of W_Q and W_K are cut, and inputs of W_O.",
        wrong={
            (_ONE, (8192, 1024), (8192, 128), (1024, 8192)): (
                "Those are (inputs, outputs), as in the formulas; nn.Linear has outputs first."
            ),
            (_ONE, (1024, 8192), _KEYS, (1024, 8192)): (
                "W_O writes all 8192 columns on every rank; what it reads is cut."
            ),
            (_ONE, (1024, 8192), (1024, 8192), (8192, 1024)): (
                "W_K makes one head of keys, not one for each query head."
            ),
            ((8, 8), (1024, 8192), (1024, 8192), (8192, 1024)): (
                "The 8 heads of keys are shared among the ranks too."
            ),
        },
    ),
    "rows_of_a_rank": OpenAnswer(
        misplaced, because="Heads 0 to 3, and the head of keys and values that they read."
    ),
    "repeated": OpenAnswer(
        unlike, because="As many heads of keys as ranks, and the same function."
    ),
}
