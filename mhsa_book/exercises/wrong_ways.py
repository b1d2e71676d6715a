"""Ways to write an attention wrongly that no change of arguments or of the result makes.

They are composed: each wrong way to come from queries to z (``WEIGHED``) is tried alone, in a
whole pass, with a context and in groups; each wrong split or concat is tried in a whole pass.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from mhsa_book.exercises import reference
from mhsa_lib import functional, masks

Way = Callable[..., Any]
Named = dict[Way, str]
"""Wrong functions, and what is to be said of them."""


# --- from queries to z ------------------------------------------------------------------------


def _weighed(weigh: Callable[[Tensor, Tensor | None], Tensor]) -> Way:
    """z with weights that are made otherwise from scores and mask."""

    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        return weigh(functional.score(q, k, q.shape[-1] ** -0.5), mask) @ v

    return attend


def _filled(scores: Tensor, mask: Tensor | None, number: float) -> Tensor:
    return scores if mask is None else scores.masked_fill(~mask, number)


def _also(masked: Way, triangle: Callable[[int, int], Tensor]) -> Way:
    """The same with a triangle that nobody has asked for."""
    return lambda q, k, v: masked(q, k, v, triangle(q.shape[-2], k.shape[-2]))


def _over_heads(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    return reference.attend(q, k, v, None).transpose(1, 2)


WEIGHED: Named = {
    _weighed(lambda s, mask: torch.softmax(_filled(s, mask, -torch.inf), -2).nan_to_num()): (
        "The softmax runs over the queries; the weights of one query should sum to 1."
    ),
    _weighed(lambda s, mask: s if mask is None else s * mask): (
        "The softmax is missing: raw scores are used as weights."
    ),
    _over_heads: "It attends over the heads of one token, and not over the tokens.",
}
"""Mistakes that show with a mask and without one."""

MASKED: Named = {
    _weighed(lambda s, mask: torch.softmax(_filled(s, mask, -1e9), -1)): (
        "A query that may look at nothing gets the mean of all values; its z should be 0."
    ),
    _weighed(
        lambda s, mask: torch.softmax(s, -1) + (s.new_zeros(()) if mask is None else mask)
    ): "The mask is added after the softmax; it belongs before it.",
    _weighed(
        lambda s, mask: torch.softmax(s, -2) * (s.new_ones(()) if mask is None else mask)
    ): (
        "The scores are normalised along the queries: q and k are exchanged, or the axis is "
        "the wrong one."
    ),
}
"""Mistakes that only a mask shows."""

UNASKED: Named = {
    _also(reference.attend, lambda n, m: torch.ones(n, m, dtype=torch.bool).tril()): (
        "It hides keys by a causal mask, with the corner top left; here all may be seen."
    ),
    _also(reference.attend, masks.causal.dense): (
        "It hides the later keys by a causal mask; here all may be seen."
    ),
}
"""Masks where there is none."""


# --- heads ------------------------------------------------------------------------------------


def _interleaved(z: Tensor) -> Tensor:
    return z.permute(0, 2, 3, 1).flatten(2)


JOINED: Named = {
    lambda z: z.sum(1).repeat(1, 1, z.shape[1]): (
        "Each head is replaced by the sum of all heads; they should stand side by side."
    ),
    lambda z: z.mean(1).repeat(1, 1, z.shape[1]): (
        "Each head is replaced by the mean of all heads; they should stand side by side."
    ),
    _interleaved: "The heads are interleaved: number 0 of every head comes first.",
    lambda z: z.transpose(1, 3).reshape(z.shape[0], z.shape[2], -1): (
        "The wrong two axes change places: exchange the heads with the tokens."
    ),
    lambda z: z.flip(1).transpose(1, 2).flatten(2): "The heads are in reverse order.",
}
"""Wrong ways to join heads that leave the width as it should be."""

CONCATS: Named = {
    **JOINED,
    lambda z: z.mean(1): "The heads are averaged; they should stand side by side.",
    lambda z: z.sum(1): "The heads are added up; they should stand side by side.",
    lambda z: torch.cat(z.unbind(1), 1): (
        "The heads follow each other along the axis of tokens; join them along the last axis."
    ),
}


def _whole(
    attend: Way = reference.attend,
    split: Way = functional.split_heads,
    concat: Way = functional.concat_heads,
) -> Way:
    def multi_head_attention(
        x: Tensor,
        W_Q: Tensor,
        W_K: Tensor,
        W_V: Tensor,
        W_O: Tensor,
        n_heads: int,
        mask: Tensor | None = None,
    ) -> Any:
        q, k, v = (split(x @ W, n_heads) for W in (W_Q, W_K, W_V))
        return concat(attend(q, k, v, mask)) @ W_O

    return multi_head_attention


def _over_the_batch(x: Tensor, *, mask: Tensor | None = None, **rest: Any) -> Tensor:
    x = x.transpose(0, 1)
    return reference.multi_head_attention(x, mask=None, **rest).transpose(0, 1)


WHOLES: Named = {
    **{_whole(attend): said for attend, said in (WEIGHED | MASKED).items()},
    **{_whole(concat=concat): f"In concat: {said}" for concat, said in JOINED.items()},
    _whole(
        split=lambda rows, n: rows.unflatten(-1, (-1, n)).permute(0, 3, 1, 2),
        concat=_interleaved,
    ): "The heads are interleaved: a head should own neighbouring columns.",
    _whole(
        split=lambda rows, n: rows.reshape(rows.shape[0], n, rows.shape[1], -1),
        concat=lambda z: z.reshape(z.shape[0], z.shape[2], -1),
    ): "Split and concat both forget the exchange of heads and tokens.",
    _over_the_batch: "It attends over the batch: the tokens of one sentence do not meet.",
}


def _crossed(attend: Way, concat: Way = functional.concat_heads) -> Way:
    def cross_attention(
        x: Tensor,
        context: Tensor,
        W_Q: Tensor,
        W_K: Tensor,
        W_V: Tensor,
        W_O: Tensor,
        n_heads: int,
    ) -> Any:
        pairs = ((x, W_Q), (context, W_K), (context, W_V))
        q, k, v = (functional.split_heads(rows @ W, n_heads) for rows, W in pairs)
        return concat(attend(q, k, v)) @ W_O

    return cross_attention


def _from_both(keys: str, values: str) -> Way:
    """Keys from one sequence, values from the other."""

    def cross_attention(
        W_Q: Tensor, W_K: Tensor, W_V: Tensor, W_O: Tensor, n_heads: int, **rows: Tensor
    ) -> Tensor:
        pairs = ((rows["x"], W_Q), (rows[keys], W_K), (rows[values], W_V))
        q, k, v = (functional.split_heads(each @ W, n_heads) for each, W in pairs)
        return functional.concat_heads(reference.attend(q, k, v, None)) @ W_O

    return cross_attention


CROSSES: Named = {
    **{_crossed(attend): said for attend, said in (WEIGHED | UNASKED).items()},
    **{
        _crossed(lambda q, k, v: reference.attend(q, k, v, None), concat): f"In concat: {said}"
        for concat, said in JOINED.items()
    },
    _from_both(
        "x", "context"
    ): "Keys come from x, values from context; both should come from context.",
    _from_both(
        "context", "x"
    ): "Values come from x, keys from context; both should come from context.",
}


# --- groups -----------------------------------------------------------------------------------


def _grouped(keys: Way, values: Way, attend: Way = reference.attend) -> Way:
    def grouped_attend(
        q: Tensor, k: Tensor, v: Tensor, n_heads: int, n_kv_heads: int
    ) -> Tensor:
        group = n_heads // n_kv_heads
        return attend(q, keys(k, group), values(v, group), None)

    return grouped_attend


def _unmasked(attend: Way) -> Way:
    return lambda q, k, v, mask: attend(q, k, v)


def _repeated(t: Tensor, group: int) -> Tensor:
    return t.repeat_interleave(group, 1)


def _tiled(t: Tensor, group: int) -> Tensor:
    return t.repeat(1, group, 1, 1)


def _along_tokens(t: Tensor, group: int) -> Tensor:
    wide = t.repeat_interleave(group, 2)
    return wide.reshape(t.shape[0], t.shape[1] * group, *t.shape[2:])


def _averaged(q: Tensor, k: Tensor, v: Tensor, n_heads: int, n_kv_heads: int) -> Tensor:
    return reference.attend(q.unflatten(1, (n_kv_heads, -1)).mean(2), k, v, None)


def _joined(q: Tensor, k: Tensor, v: Tensor, n_heads: int, n_kv_heads: int) -> Tensor:
    return functional.concat_heads(reference.grouped_attend(q, k, v, n_heads, n_kv_heads))


def _cut_in_groups(q: Tensor, k: Tensor, v: Tensor, n_heads: int, n_kv_heads: int) -> Tensor:
    z = reference.grouped_attend(q, k, v, n_heads, n_kv_heads)
    return z.unflatten(1, (n_kv_heads, -1))


def _one_softmax(q: Tensor, k: Tensor, v: Tensor, n_heads: int, n_kv_heads: int) -> Tensor:
    scores = q.unflatten(1, (n_kv_heads, -1)) @ k[:, :, None].mT * q.shape[-1] ** -0.5
    powers = scores.exp()
    return (powers / powers.sum((2, 4), keepdim=True) @ v[:, :, None]).flatten(1, 2)


GROUPS: Named = {
    **{
        _grouped(_repeated, _repeated, _unmasked(attend)): said
        for attend, said in (WEIGHED | UNASKED).items()
    },
    _grouped(_repeated, _tiled): "Keys are repeated head by head, but values are tiled.",
    _grouped(_tiled, _repeated): "Values are repeated head by head, but keys are tiled.",
    _grouped(_along_tokens, _along_tokens): (
        "Keys and values are repeated along the tokens; repeat them along the heads."
    ),
    _grouped(lambda t, group: t, lambda t, group: t): (
        "Keys and values are not repeated: broadcasting stretches only an axis of size 1."
    ),
    _averaged: "The queries of a group are averaged; each should keep a result of its own.",
    _joined: "The heads are concatenated already; return them split.",
    _cut_in_groups: "The groups are still an axis of their own: merge it with the next one.",
    _one_softmax: "One softmax runs over a whole group; each query head needs its own.",
}


# --- a step with a cache ----------------------------------------------------------------------


def _step(seen: Way, kept: Way) -> Way:
    """A step that sees and returns what these make of the old and the new, for k and for v."""

    def kv_cache_step(
        x: Tensor,
        k: Tensor,
        v: Tensor,
        W_Q: Tensor,
        W_K: Tensor,
        W_V: Tensor,
        W_O: Tensor,
        n_heads: int,
    ) -> Any:
        q, new_k, new_v = (functional.split_heads(x @ W, n_heads) for W in (W_Q, W_K, W_V))
        z = reference.attend(q, seen(k, new_k), seen(v, new_v), None)
        return functional.concat_heads(z) @ W_O, kept(k, new_k), kept(v, new_v)

    return kv_cache_step


def _old(old: Tensor, new: Tensor) -> Tensor:
    return old


def _new(old: Tensor, new: Tensor) -> Tensor:
    return new


def _both(old: Tensor, new: Tensor) -> Tensor:
    return torch.cat([old, new], 2)


def _front(old: Tensor, new: Tensor) -> Tensor:
    return torch.cat([new, old], 2)


def _overwritten(old: Tensor, new: Tensor) -> Tensor:
    return torch.cat([old[:, :, :-1], new], 2)


def _reversed(old: Tensor, new: Tensor) -> Tensor:
    return torch.cat([old, new.flip(1)], 2)


def _with_room(old: Tensor, new: Tensor) -> Tensor:
    return torch.nn.functional.pad(_both(old, new), (0, 0, 0, 1))


STEPS: Named = {
    _step(_old, _both): "It attends before it appends: the new token does not see itself.",
    _step(_new, _both): "The new token sees only itself, and nothing of the cache.",
    _step(_both, _old): "It returns the old caches; the new key and value belong to them.",
    _step(_both, _new): "It returns the new key and value alone; return the whole caches.",
    _step(_old, _old): "The new key and value are not used at all.",
    _step(_front, _front): "The new key and value are put in front; they belong at the end.",
    _step(_overwritten, _overwritten): "The last place of the cache is overwritten.",
    _step(_with_room, _both): "One place too many is seen: an empty key has a score of 0.",
    _step(_with_room, _with_room): "The caches have one place too many, and it is seen.",
    _step(_reversed, _reversed): "The heads of the new key and value are in reverse order.",
    _step(
        lambda old, new: torch.cat([old, new], 1), lambda old, new: torch.cat([old, new], 1)
    ): "The caches grow along the axis of heads; append along the axis of tokens.",
}


# --- masks and scores -------------------------------------------------------------------------


def _triangle(offset: Callable[[int, int], int], upper: bool = False) -> Way:
    def causal_mask(n_query: int, n_key: int) -> Tensor:
        ones = torch.ones(n_query, n_key, dtype=torch.bool)
        diagonal = offset(n_query, n_key)
        return ones.triu(diagonal) if upper else ones.tril(diagonal)

    return causal_mask


TRIANGLES: Named = {
    _triangle(lambda n, m: m - n - 1): "A query does not see itself: the triangle is strict.",
    _triangle(lambda n, m: m - n, upper=True): "The wrong triangle: it sees only the future.",
    _triangle(lambda n, m: n - m): "The diagonal is moved in the wrong direction.",
    lambda n_query, n_key: masks.causal.dense(n_key, n_key): (
        "It is a square for as many queries as keys; only the last n_query rows are asked for."
    ),
    lambda n_query, n_key: masks.causal.dense(n_key, n_key)[:n_query]: (
        "Those are the first rows of the square; the queries are the last positions."
    ),
}


def _normalised(q: Tensor, k: Tensor, scale: float) -> Tensor:
    q, k = (torch.nn.functional.normalize(t, dim=-1) for t in (q, k))
    return functional.score(q, k, scale)


SCORES: Named = {
    lambda q, k, scale: q @ k.reshape(*k.shape[:2], k.shape[3], k.shape[2]) * scale: (
        "k is reshaped where it should be transposed: its numbers are mixed up."
    ),
    _normalised: "q and k are normalised first: those are cosines, not dot products.",
    lambda q, k, scale: -torch.cdist(q, k) * scale: (
        "Those are distances, not dot products of queries and keys."
    ),
}

ATTENDS: Named = {**WEIGHED, **MASKED}
