"""Exercises of chapters 05, attend, and 05a, scale and gradients."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from mhsa_book import examples
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


def _map_with(exchanged: bool) -> Tensor:
    """The map of *who is meant*, (query, key); exchanged, its queries are keys."""
    wires = examples.running()
    q, k = wires["q_heads"][0, 0], wires["k_heads"][0, 0]
    q, k = (k, q) if exchanged else (q, k)
    return functional.softmax(functional.score(q[None], k[None], scale=0.5))[0]


def _another_row(answer: Any) -> str:
    """How a row of seven weights differs from that of "animal" with W_Q and W_K exchanged."""
    row = torch.as_tensor(answer, dtype=torch.float64).detach()
    before, after, animal = _map_with(exchanged=False), _map_with(exchanged=True), 1
    if row.shape != (7,):
        return "Hand over a list of seven weights, one for each word."

    def is_near(other: Tensor) -> bool:
        return torch.allclose(row, other.double(), atol=0.02)

    if is_near(after[animal]):
        return ""
    if is_near(before[:, animal]):
        return (
            "These are the weights that *animal* was given before, its column of the old map. "
            "Now they stand in one row, so the softmax has to divide them by their sum."
        )
    if is_near(before[animal]):
        return "That is its row before the exchange. Which queries match the key of *animal*?"
    if abs(row.sum() - 1) > 0.02:
        return f"The weights of a query sum to 1; these sum to {row.sum():.2f}."
    wrong = int((row - after[animal].double()).abs().argmax())
    return f"The weight on word {wrong}, {examples.SENTENCES[0][wrong]!r}, is another one."


def _pushes() -> tuple[float, ...]:
    """Minus ∂L/∂s for weights 1/2, 1/4, 1/4, values 4, 0, 8 and a loss that wants z larger."""
    scores = torch.tensor([2.0, 1.0, 1.0]).log().requires_grad_()
    loss = -(scores.softmax(dim=-1) @ torch.tensor([4.0, 0.0, 8.0]))
    (gradient,) = torch.autograd.grad(loss, scores)
    return tuple((-gradient).round(decimals=5).tolist())


def _factor_of_cosines() -> float:
    """t with e^t / (e^t + 6) = 0.9."""
    return math.log(0.9 * 6 / (1 - 0.9))


def _nothing_asked() -> float:
    """z of a query of zeros for the values 8, 4 and 0."""
    weights = functional.softmax(torch.zeros(1, 1, 3))
    return functional.mix(weights, torch.tensor([[[8.0], [4.0], [0.0]]])).item()


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
    "attend_exchanged": OpenAnswer(
        _another_row,
        because="The key of *animal* matches two queries, its own and that of *tired*: half "
        "each.",
    ),
    "nothing_asked": Value(
        _nothing_asked,
        because="It is the plain average. Now compare your sentences with ours.",
        wrong={
            0: "That would need weights of 0. What is e⁰, and what do weights sum to?",
            12: "Weights sum to 1, so z lies between the smallest and the largest value.",
        },
    ),
    "attend_elsewhere": OpenAnswer(
        _looks_at_itself, because="The part of b that points the way of a is longer than a."
    ),
    "pushes": Value(
        _pushes,
        because="The first word has the largest weight and gets no push: its value is z.",
        wrong={
            (2.0, 0.0, 2.0): "These are the terms of z. A push compares each value with z.",
            (0.0, 1.0, -1.0): "The signs are those of the gradient. Training goes against it.",
            (0.0, -4.0, 4.0): "These are the values minus z; each is still to be multiplied by "
            "its weight.",
        },
    ),
    "factor_of_cosines": Value(
        _factor_of_cosines,
        because="ln 54: the match needs nine times the weight of six others together.",
        wrong={
            math.log(9): "There are six other words, and each has e⁰ = 1.",
            54.0: "That is e to the power of the factor. Take its logarithm.",
        },
    ),
}
