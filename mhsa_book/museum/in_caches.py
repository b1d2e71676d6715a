"""Mistakes with what is remembered: training never meets them."""

from collections.abc import Callable

import torch
from torch import Tensor

from mhsa_book.museum import cheap_checks, problems
from mhsa_book.museum.catalogue import exhibit
from mhsa_book.museum.right import Cache


@exhibit(
    "forget",
    stage="cache",
    symptom="in use",
    check=cheap_checks.a_second_text_is_new,
    problem=problems.a_second_text,
)
def the_last_text_is_remembered(cache: Cache | None) -> Cache | None:
    """The cache is not emptied: a new text looks at the one before."""
    return cache


@exhibit(
    "recall",
    stage="cache",
    symptom="in use",
    check=cheap_checks.word_by_word_as_at_once,
    problem=problems.word_by_word,
)
def keys_turned_again(k: Tensor, turned: Callable[[Tensor], Tensor]) -> Tensor:
    """Keys in the cache are turned with every new token."""
    return turned(k)


@exhibit(
    "reorder",
    stage="cache",
    symptom="in use",
    check=cheap_checks.a_beam_goes_on_from_its_parent,
    problem=problems.beams,
)
def beams_keep_their_own_cache(cache: Cache, beams: Tensor) -> Cache:
    """A beam that was copied goes on with the keys of the beam that it replaced."""
    return cache


@exhibit(
    "remember",
    stage="cache",
    symptom="in use",
    check=cheap_checks.word_by_word_as_at_once,
    problem=problems.word_by_word,
    setting=problems.Setting(positions="relative"),
)
def new_keys_in_front(cache: Cache | None, k: Tensor, v: Tensor) -> Cache:
    """New keys are put before the old ones: places and masks no longer fit."""
    if cache is None:
        return Cache(k, v)
    return Cache(torch.cat([k, cache.k], dim=2), torch.cat([v, cache.v], dim=2))


@exhibit(
    "crop",
    stage="cache",
    symptom="elsewhere",
    check=cheap_checks.rejected_tokens_leave_no_trace,
    problem=problems.after_rejected_tokens,
)
def rejected_tokens_stay(cache: Cache, n: int) -> Cache:
    """Draft tokens that were rejected stay in the cache, and the text goes on behind them."""
    return cache
