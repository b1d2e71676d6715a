"""Mistakes in scores, in the scale, and in a softmax of one's own."""

import math

import torch
from torch import Tensor

from mhsa_book.museum import by_hand, cheap_checks, problems
from mhsa_book.museum.catalogue import exhibit


@exhibit("score", stage="attend", symptom="worse", check=cheap_checks.one_weight_by_hand)
def no_scale(q: Tensor, k: Tensor, d_model: int) -> Tensor:
    """Scores are not divided by √d_head."""
    return q @ k.mT


@exhibit("score", stage="attend", symptom="converted", check=cheap_checks.one_weight_by_hand)
def scale_by_d_model(q: Tensor, k: Tensor, d_model: int) -> Tensor:
    """Scores are divided by √d_model."""
    return (q @ k.mT) / math.sqrt(d_model)


@exhibit("score", stage="attend", symptom="worse", check=cheap_checks.one_weight_by_hand)
def multiplied_by_the_root(q: Tensor, k: Tensor, d_model: int) -> Tensor:
    """Scores are multiplied by √d_head."""
    return (q @ k.mT) * math.sqrt(q.shape[-1])


@exhibit("score", stage="attend", symptom="converted", check=cheap_checks.one_weight_by_hand)
def scaled_twice(q: Tensor, k: Tensor, d_model: int) -> Tensor:
    """Queries are scaled, and the scores once more: together they are divided by d_head."""
    return (q / math.sqrt(q.shape[-1]) @ k.mT) / math.sqrt(q.shape[-1])


@exhibit("score", stage="attend", symptom="leaks", check=by_hand.the_numbers_of_the_definition)
def keys_reshaped_not_transposed(q: Tensor, k: Tensor, d_model: int) -> Tensor:
    """Keys are reshaped to (d_head, key): a column holds numbers of several keys."""
    return (q @ k.reshape(*k.shape[:2], k.shape[3], k.shape[2])) / math.sqrt(q.shape[-1])


@exhibit(
    "score",
    stage="attend",
    symptom="nan",
    check=cheap_checks.large_numbers_stay_finite,
    problem=problems.large_numbers,
)
def scores_overflow_in_half(q: Tensor, k: Tensor, d_model: int) -> Tensor:
    """The product is taken in half precision before it is scaled: above 65,504 is infinity."""
    return (q.half() @ k.half().mT).to(q.dtype) / math.sqrt(q.shape[-1])


@exhibit(
    "softmax",
    stage="attend",
    symptom="nan",
    check=cheap_checks.large_numbers_stay_finite,
    problem=problems.large_numbers,
)
def softmax_overflows(scores: Tensor, mask: Tensor) -> Tensor:
    """Exponentials are taken without subtracting the largest score."""
    weights = scores.exp() * mask
    return weights / weights.sum(dim=-1, keepdim=True).clamp_min(1e-30)


@exhibit("softmax", stage="attend", symptom="worse", check=cheap_checks.rows_sum_to_one)
def scaled_after_the_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """The weights are divided by the root of the number of keys: a row sums to less than 1."""
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)
    return weights / math.sqrt(weights.shape[-1])


@exhibit("softmax", stage="attend", symptom="leaks", check=cheap_checks.rows_sum_to_one)
def softmax_over_queries(scores: Tensor, mask: Tensor) -> Tensor:
    """Columns sum to 1, and not rows: queries compete for a key."""
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=-2).masked_fill(~mask, 0.0)


@exhibit("softmax", stage="attend", symptom="worse", check=cheap_checks.rows_sum_to_one)
def softmax_over_heads(scores: Tensor, mask: Tensor) -> Tensor:
    """The softmax runs over axis 1, which is the heads: they compete, and keys do not."""
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=1).masked_fill(~mask, 0.0)


@exhibit(
    "softmax",
    stage="attend",
    symptom="worse",
    check=cheap_checks.every_number_learns,
    problem=problems.gradient,
)
def weights_detached(scores: Tensor, mask: Tensor) -> Tensor:
    """The weights carry no gradient: where to look is never learned."""
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0).detach()
