"""Exercises of chapter 05, attend."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from mhsa_book.exercises import bugs, reference, wrong_ways
from mhsa_book.exercises import drawn_inputs as inputs
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_lib import functional


def _by_hand() -> float:
    """z for scores 0, ln 2 and ln 5 and values 8, 4 and 0."""
    weights = functional.softmax(torch.tensor([[[1.0, 2.0, 5.0]]]).log())
    return functional.mix(weights, torch.tensor([[[8.0], [4.0], [0.0]]])).item()


def _looks_at_itself(answer: Any) -> str:
    """Why the first of two vectors does not prefer the second when keys are queries."""
    a, b = (torch.as_tensor(vector, dtype=torch.float64) for vector in answer)
    if a.shape != (2,) or b.shape != (2,):
        return "Give two vectors of two numbers each."
    own, other = (a @ a).item(), (a @ b).item()
    if other > own:
        return ""
    return f"a·a is {own:g} and a·b is {other:g}; the second has to be larger."


def _recipe(
    weigh: Callable[[Tensor, Tensor], Tensor],
) -> Callable[[Tensor, Tensor | None], Tensor]:
    """A softmax that is right without a mask, and with one whatever `weigh` makes of it."""

    def recipe(scores: Tensor, mask: Tensor | None) -> Tensor:
        return reference.softmax(scores, None) if mask is None else weigh(scores, mask)

    return recipe


def _filled(scores: Tensor, forbidden: Tensor, number: float) -> Tensor:
    return torch.softmax(scores.masked_fill(forbidden, number), dim=-1)


MISTAKES = {
    _recipe(lambda s, may: torch.softmax(s, dim=-1)): "The mask changes nothing.",
    _recipe(lambda s, may: torch.softmax(s, dim=-1) * may): (
        "A row no longer sums to 1: the mask comes after the softmax has divided."
    ),
    _recipe(lambda s, may: torch.softmax(s * may, dim=-1)): (
        "A forbidden score of 0 still has a weight: e⁰ is 1."
    ),
    _recipe(lambda s, may: torch.softmax(s + may, dim=-1)): "Adding 1 or 0 forbids nothing.",
    _recipe(lambda s, may: _filled(s, may, -torch.inf)): "True means: may look.",
    _recipe(lambda s, may: _filled(s, ~may, -torch.inf)): (
        "A row without any key is NaN: its softmax divides 0 by 0."
    ),
    _recipe(lambda s, may: _filled(s, ~may, -1e9)): (
        "A row without any key gives its weight to keys that are forbidden."
    ),
}
"""Softmaxes that are wrong, and why."""


def _unlike_weights(given: Mapping[str, Any], expected: Tensor, found: Any) -> str:
    """Say which property of weights a result does not have."""
    if not isinstance(found, Tensor) or found.shape != expected.shape:
        return ""
    if found.isnan().any():
        return "There are weights that are NaN."
    if given["mask"] is not None and found.masked_select(~given["mask"]).any():
        return "A key that the mask hides gets a weight all the same."
    if (found < 0).any():
        return "There are negative weights."
    if not torch.allclose(found.sum(dim=-1), expected.sum(dim=-1), atol=1e-4):
        return "There is a row of weights that does not sum to 1, though it has keys."
    return ""


def _no_mean(given: Mapping[str, Any], expected: Tensor, found: Any) -> str:
    """Say if z cannot be a mean of values."""
    if not isinstance(found, Tensor) or found.shape != expected.shape:
        return ""
    low, high = given["v"].amin(-2, keepdim=True), given["v"].amax(-2, keepdim=True)
    outside = (found < low - 1e-3) | (found > high + 1e-3)
    if (outside & (expected != 0)).any():
        return (
            "z is no mean of the values: weights of one query are negative, or do not sum to 1."
        )
    return ""


EXERCISES: dict[str, Exercise] = {
    "score": FunctionWithKnownMistakes(
        functional.score,
        inputs.queries_and_keys,
        mistakes=wrong_ways.SCORES,
        exhibits=bugs.scores(),
        axes="batch head query key",
        learns=True,
    ),
    "softmax": FunctionWithKnownMistakes(
        reference.softmax,
        inputs.scores,
        mistakes=MISTAKES,
        exhibits=bugs.softmaxes(),
        described=_unlike_weights,
        learns=True,
    ),
    "attend": FunctionWithKnownMistakes(
        reference.attend,
        inputs.attend,
        mistakes=wrong_ways.ATTENDS,
        exhibits=bugs.attends(),
        axes="batch head query d_head",
        described=_no_mean,
        learns=True,
    ),
    "attend_by_hand": Value(
        _by_hand,
        because="The weights are 1/8, 2/8 and 5/8.",
        wrong={
            4: "That is the plain average. The weights are in the ratio 1 : 2 : 5.",
            16: "Divide by the sum of 1, 2 and 5: weights sum to 1.",
        },
    ),
    "attend_elsewhere": OpenAnswer(
        _looks_at_itself, because="The part of b that points the way of a is longer than a."
    ),
}
