"""All parts of a plain attention together, and a pass through them, whole or token by token."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mhsa_book.museum import right
from mhsa_book.museum.right import Cache, Matrices

Part = Callable[..., Any]


@dataclass(frozen=True)
class Parts:
    """One function for each part, by the name that it has in ``right``."""

    begin: Part = right.begin
    register: Part = right.register
    targets: Part = right.targets
    asked: Part = right.asked
    normalise: Part = right.normalise
    project: Part = right.project
    split_heads: Part = right.split_heads
    share_heads: Part = right.share_heads
    normalise_heads: Part = right.normalise_heads
    places: Part = right.places
    counted: Part = right.counted
    angles: Part = right.angles
    turn: Part = right.turn
    rotate: Part = right.rotate
    alibi: Part = right.alibi
    offsets: Part = right.offsets
    forget: Part = right.forget
    remember: Part = right.remember
    recall: Part = right.recall
    reorder: Part = right.reorder
    crop: Part = right.crop
    causal_mask: Part = right.causal_mask
    padding_mask: Part = right.padding_mask
    memory_mask: Part = right.memory_mask
    documents_mask: Part = right.documents_mask
    window_mask: Part = right.window_mask
    score: Part = right.score
    drop_scores: Part = right.drop_scores
    softmax: Part = right.softmax
    drop: Part = right.drop
    mix: Part = right.mix
    concat_heads: Part = right.concat_heads
    output: Part = right.output

    def having(self, **changes: Part) -> "Parts":
        """The same with other parts in some places; ``TypeError`` for a name that is none."""
        return replace(self, **changes)


RIGHT = Parts()


@dataclass(frozen=True)
class Setting:
    """What an attention is like, apart from its numbers.

    Parameters
    ----------
    n_heads, n_kv_heads : heads of the queries, and of keys and values
    positions : "rotary", "alibi", "relative" (a table of biases), "absolute" (added to the
        rows), or "none"
    qk_norm : whether queries and keys are normalised, head by head
    causal : whether the future is hidden
    dropout : share of the weights that is left out while training
    window : how many tokens a query may attend to, itself among them; None for all
    """

    n_heads: int = 4
    n_kv_heads: int = 4
    positions: str = "rotary"
    qk_norm: bool = False
    causal: bool = True
    dropout: float = 0.0
    window: int | None = None


class Passed(NamedTuple):
    """What a pass leaves: weights (batch, head, query, key), z, and the rows that come out."""

    weights: Tensor
    z: Tensor
    output: Tensor
    cache: Cache


class Inputs(NamedTuple):
    """What goes into a pass.

    ``x`` is (batch, query, d_model); ``memory`` stands in for it where keys and values come
    from; ``real`` (batch, key) is False at padding; ``table`` (head, offset) has the relative
    biases, that of offset 0 in the middle; ``documents`` (batch, seq) says of several texts in
    one row which one a token belongs to.
    """

    x: Tensor
    W: Matrices
    memory: Tensor | None = None
    real: Tensor | None = None
    table: Tensor | None = None
    documents: Tensor | None = None


def run(
    parts: Parts,
    setting: Setting,
    given: Inputs,
    *,
    cache: Cache | None = None,
    training: bool = False,
) -> Passed:
    """One pass through all parts; with a cache, the rows of x come behind what it knows."""
    W, n_heads = given.W, setting.n_heads
    n_before = 0 if cache is None else cache.k.shape[2]
    x = _placed(parts, given, n_before) if setting.positions == "absolute" else given.x
    q, k, v = parts.project(x, x if given.memory is None else given.memory, W, n_heads)
    q = parts.split_heads(q, n_heads)
    k, v = (parts.split_heads(rows, setting.n_kv_heads) for rows in (k, v))
    if setting.qk_norm:
        q, k = parts.normalise_heads(q), parts.normalise_heads(k)
    at = parts.places(n_before, q.shape[2])

    def turned(heads: Tensor) -> Tensor:
        return parts.turn(heads, parts.angles(at, heads.shape[-1], n_heads))

    if setting.positions == "rotary":
        q, k, v = parts.rotate(q, k, v, turned)
        if cache is not None:
            cache = cache._replace(k=parts.recall(cache.k, turned))
    cache = parts.remember(cache, k, v)
    k, v = (parts.share_heads(kv, q.shape[1]) for kv in cache)
    scores = parts.score(q, k, x.shape[-1])
    scores = scores + _bias(parts, setting, scores, given.table)
    scores = parts.drop_scores(scores, setting.dropout, training)
    weights = parts.softmax(scores, _mask(parts, setting, scores, given))
    z = parts.mix(parts.drop(weights, setting.dropout, training), v)
    return Passed(weights, z, parts.output(parts.concat_heads(z), W, n_heads), cache)


def step_by_step(parts: Parts, setting: Setting, given: Inputs, n_first: int = 1) -> Passed:
    """The same rows with a cache: ``n_first`` at once, and then one after the other.

    The weights are one map, with zeros for keys that were not there yet.
    """
    real = torch.ones(given.x.shape[:2], dtype=torch.bool) if given.real is None else given.real
    cache, found = None, []
    for start, end in _cuts(given.x.shape[1], n_first):
        now = given._replace(x=given.x[:, start:end], real=real[:, :end])
        found.append(run(parts, setting, now, cache=cache))
        cache = found[-1].cache
    weights = torch.cat([_widened(f.weights, given.x.shape[1]) for f in found], dim=2)
    z, rows = (
        torch.cat([f.z for f in found], dim=2),
        torch.cat([f.output for f in found], dim=1),
    )
    return Passed(weights, z, rows, found[-1].cache)


def _widened(weights: Tensor, n_key: int) -> Tensor:
    return torch.nn.functional.pad(weights, (0, n_key - weights.shape[-1]))


def _cuts(n: int, n_first: int) -> list[tuple[int, int]]:
    return [(0, n_first), *((i, i + 1) for i in range(n_first, n))]


def _bias(parts: Parts, setting: Setting, scores: Tensor, table: Tensor | None) -> Tensor:
    n_query, n_key = scores.shape[-2:]
    if setting.positions == "alibi":
        return parts.alibi(n_query, n_key, setting.n_heads)
    if setting.positions == "relative" and table is not None:
        return table[:, parts.offsets(n_query, n_key) + table.shape[1] // 2]
    return scores.new_zeros(())


def _placed(parts: Parts, given: Inputs, n_before: int) -> Tensor:
    """The rows with their positions added; padding in front does not count as a position."""
    batch, n, d_model = given.x.shape
    real = torch.ones(batch, n_before + n).bool() if given.real is None else given.real
    return given.x + right.sinusoids(parts.counted(real)[:, -n:], d_model)


def _mask(parts: Parts, setting: Setting, scores: Tensor, given: Inputs) -> Tensor:
    n_query, n_key = scores.shape[-2:]
    mask = torch.ones(n_query, n_key, dtype=torch.bool)
    if setting.causal:
        mask = parts.causal_mask(n_query, n_key)
    if setting.window is not None:
        mask = mask & parts.window_mask(n_query, n_key, setting.window)
    if given.documents is not None:
        mask = mask & parts.documents_mask(given.documents)
    if given.real is None:
        return mask
    is_memory = given.memory is not None
    return mask & (parts.memory_mask if is_memory else parts.padding_mask)(given.real)
