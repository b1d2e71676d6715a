"""Mistakes when values are mixed, and in what is left out while training."""

from torch import Tensor, nn

from mhsa_book.museum import cheap_checks, problems
from mhsa_book.museum.catalogue import exhibit

DROPS = problems.Setting(dropout=0.2)


@exhibit("mix", stage="attend", symptom="leaks", check=cheap_checks.the_future_is_hidden)
def mixed_with_the_transpose(weights: Tensor, v: Tensor) -> Tensor:
    """Values are mixed with the columns of the weights: a token gets from who looks at it."""
    return weights.mT @ v


@exhibit(
    "drop",
    stage="attend",
    symptom="in use",
    check=cheap_checks.evaluation_repeats_itself,
    problem=problems.in_evaluation,
    setting=DROPS,
)
def dropout_in_evaluation(weights: Tensor, p: float, training: bool) -> Tensor:
    """Nobody tells dropout that training is over."""
    return nn.functional.dropout(weights, p)


def _nothing_left_out(weights: Tensor, p: float, training: bool) -> Tensor:
    return weights


@exhibit(
    "drop_scores",
    stage="attend",
    symptom="elsewhere",
    check=cheap_checks.all_dropped_is_nothing,
    problem=problems.with_dropout,
    setting=DROPS,
    also={"drop": _nothing_left_out},
)
def dropout_before_the_softmax(scores: Tensor, p: float, training: bool) -> Tensor:
    """Scores are dropped, and a score of 0 still has a weight."""
    return nn.functional.dropout(scores, p, training)


@exhibit(
    "drop",
    stage="attend",
    symptom="elsewhere",
    check=cheap_checks.dropout_keeps_the_mean,
    problem=problems.with_dropout,
    setting=DROPS,
)
def dropout_not_rescaled(weights: Tensor, p: float, training: bool) -> Tensor:
    """Weights are left out and the others stay as they are: less comes through than later."""
    return nn.functional.dropout(weights, p, training) * (1 - p if training else 1)
