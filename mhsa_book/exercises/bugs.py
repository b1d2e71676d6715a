"""Exhibits of the bug museum, called as the exercises call an answer."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from mhsa_book import museum
from mhsa_book.museum.catalogue import Exhibit
from mhsa_book.museum.parts import Parts
from mhsa_book.museum.right import Cache, Matrices, causal_mask
from mhsa_lib import masks

Adapted = dict[str, Callable[..., Any]]
"""A mistake for every exhibit, by name."""


SAME_NUMBERS = ("weights_detached", "minus_a_billion_in_half", "output_bias_on_every_device")
"""Wrong in the gradient, in half precision or with a bias of W_O alone: no number shows it."""

SAID_IN_WORDS = ("causal_mask_forgotten", "padding_mask_forgotten")
"""A verdict says of these that the mask, or the lengths, change nothing."""


UNSEEN = (
    *("mask_inverted", "mask_after_the_softmax", "scores_times_mask"),
    *("an_empty_row_is_nan", "two_masks_added", "softmax_overflows", "mask_of_ones_added"),
)
"""Without a mask and with small numbers there is nothing to see of these."""


def of(*parts: str) -> list[Exhibit]:
    """Exhibits that replace one of these parts, and nothing that stands elsewhere.

    >>> [each.name for each in of("causal_mask")]
    ['one_token_of_the_future', 'causal_from_the_top_left']
    """
    fitting = [each for each in museum.exhibits() if {*each.parts} <= {*parts}]
    return [each for each in fitting if each.name not in SAME_NUMBERS + SAID_IN_WORDS]


def _each(adapt: Callable[[Parts], Callable[..., Any]], *parts: str) -> Adapted:
    return {each.name: adapt(each.all_parts) for each in of(*parts)}


def splits() -> Adapted:
    """Ways to cut heads wrongly: ``split_heads(x, n_heads)``."""
    return _each(lambda p: lambda x, n_heads: p.split_heads(x, n_heads), "split_heads")


def concats() -> Adapted:
    """Ways to join heads wrongly: ``concat_heads(z)``."""
    return _each(lambda p: lambda z: p.concat_heads(z), "concat_heads")


def scores() -> Adapted:
    """Scores that are wrong: ``score(q, k, scale)``, with the scale 1/√d_head."""

    def adapt(p: Parts) -> Callable[..., Any]:
        return lambda q, k, scale: p.score(q, k, q.shape[1] * q.shape[-1])

    return _each(adapt, "score")


def softmaxes() -> Adapted:
    """Softmaxes that are wrong: ``softmax(scores, mask)``."""
    return _each(lambda p: lambda scores, mask: _weigh(p, scores, mask), "softmax")


def causals() -> Adapted:
    """Masks that hide the wrong future: ``causal_mask(n_query, n_key)``."""
    return _each(lambda p: lambda n_query, n_key: p.causal_mask(n_query, n_key), "causal_mask")


def paddings() -> Adapted:
    """Masks that hide the wrong side: ``padding_mask(lengths, n_key)``."""

    def adapt(p: Parts) -> Callable[..., Any]:
        def padding_mask(lengths: list[int], n_key: int) -> Tensor:
            return p.padding_mask(masks.key_padding(lengths).dense(1, n_key)[:, 0, 0])

        return padding_mask

    return _each(adapt, "padding_mask")


def attends() -> Adapted:
    """Mistakes on the way from queries to z: ``attend(q, k, v, mask)``."""
    return _each(lambda p: lambda q, k, v, mask: mixed(p, q, k, v, mask), *ATTEND)


def at_once() -> Adapted:
    """Those of them that show without a mask: ``all_heads_at_once(q, k, v)``."""

    def adapt(wrong: Callable[..., Any]) -> Callable[..., Any]:
        return lambda q, k, v: wrong(q[None], k[None], v[None], None)[0]

    return {name: adapt(wrong) for name, wrong in attends().items() if name not in UNSEEN}


def singles() -> Adapted:
    """The same with one head, and no axis for it: ``one_head(x, W_Q, W_K, W_V)``."""

    def adapt(wrong: Callable[..., Any]) -> Callable[..., Any]:
        def one_head(x: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor) -> Tensor:
            q, k, v = ((x @ W)[:, None] for W in (W_Q, W_K, W_V))
            return wrong(q, k, v, None)[:, 0]

        return one_head

    same = (*UNSEEN, "scale_by_d_model")  # one head is as wide as the scale says
    return {name: adapt(wrong) for name, wrong in attends().items() if name not in same}


def groups() -> Adapted:
    """The same, and key heads that meet the wrong queries, for ``grouped_attend``."""

    def adapt(p: Parts) -> Callable[..., Any]:
        def grouped_attend(
            q: Tensor, k: Tensor, v: Tensor, n_heads: int, n_kv_heads: int
        ) -> Tensor:
            return mixed(p, q, p.share_heads(k, n_heads), p.share_heads(v, n_heads), None)

        return grouped_attend

    return _each(adapt, "share_heads", "score", "mix")


def crosses() -> Adapted:
    """Mistakes in ``cross_attention(x, context, W_Q, W_K, W_V, W_O, n_heads)``."""

    def adapt(p: Parts) -> Callable[..., Any]:
        def cross_attention(
            x: Tensor,
            context: Tensor,
            W_Q: Tensor,
            W_K: Tensor,
            W_V: Tensor,
            W_O: Tensor,
            n_heads: int,
        ) -> Tensor:
            W = matrices_of(W_Q, W_K, W_V, W_O)
            rows = p.project(x, context, W, n_heads)
            q, k, v = (p.split_heads(each, n_heads) for each in rows)
            return p.output(p.concat_heads(mixed(p, q, k, v, None)), W, n_heads)

        return cross_attention

    found = _each(adapt, *ATTEND, "project", "split_heads", "concat_heads", "output")
    same = (*UNSEEN, "biases_forgotten")  # there are none
    return {name: wrong for name, wrong in found.items() if name not in same}


def wholes() -> Adapted:
    """Mistakes anywhere in ``multi_head_attention(x, W_Q, W_K, W_V, W_O, n_heads, mask)``."""

    def adapt(p: Parts) -> Callable[..., Any]:
        def multi_head_attention(
            x: Tensor,
            W_Q: Tensor,
            W_K: Tensor,
            W_V: Tensor,
            W_O: Tensor,
            n_heads: int,
            mask: Tensor | None,
        ) -> Tensor:
            W = matrices_of(W_Q, W_K, W_V, W_O)
            rows = p.project(x, x, W, n_heads)
            q, k, v = (p.split_heads(each, n_heads) for each in rows)
            return p.output(p.concat_heads(mixed(p, q, k, v, mask)), W, n_heads)

        return multi_head_attention

    found = _each(adapt, *ATTEND, "project", "split_heads", "concat_heads", "output")
    same = ("queries_from_the_memory", "biases_forgotten")  # x is the memory, without biases
    return {name: wrong for name, wrong in found.items() if name not in same}


def steps() -> Adapted:
    """Mistakes with a cache: ``kv_cache_step(x, k, v, W_Q, W_K, W_V, W_O, n_heads)``."""

    def adapt(p: Parts) -> Callable[..., Any]:
        def kv_cache_step(
            x: Tensor,
            k: Tensor,
            v: Tensor,
            W_Q: Tensor,
            W_K: Tensor,
            W_V: Tensor,
            W_O: Tensor,
            n_heads: int,
        ) -> tuple[Tensor, Tensor, Tensor]:
            W = matrices_of(W_Q, W_K, W_V, W_O)
            q, new_k, new_v = (
                p.split_heads(each, n_heads) for each in p.project(x, x, W, n_heads)
            )
            cache = p.remember(Cache(k, v), new_k, new_v)
            hide = p.causal_mask if p.causal_mask is not causal_mask else None
            mask = None if hide is None else hide(1, cache.k.shape[2])
            z = mixed(p, q, cache.k, cache.v, mask)
            return p.output(p.concat_heads(z), W, n_heads), cache.k, cache.v

        return kv_cache_step

    found = _each(adapt, "remember", "causal_mask", "score", "output")
    del found["one_token_of_the_future"]  # a step has no future
    return found


ATTEND = ("score", "softmax", "mix")


def _weigh(p: Parts, scores: Tensor, mask: Tensor | None) -> Tensor:
    mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    return p.softmax(scores, mask.expand_as(scores))


def mixed(p: Parts, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Go from queries to z by these parts."""
    scores = p.score(q, k, q.shape[1] * q.shape[-1])
    return p.mix(_weigh(p, scores, mask), v)


def matrices_of(W_Q: Tensor, W_K: Tensor, W_V: Tensor, W_O: Tensor) -> Matrices:
    """Turn matrices of formulas, (in, out), into those of the museum, without biases."""
    none = W_Q.new_zeros(W_Q.shape[1])  # one of the exhibits cuts it, another joins three
    return Matrices(W_Q.mT, W_K.mT, W_V.mT, W_O.mT, none, none, none)
