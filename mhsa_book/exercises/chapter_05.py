"""Exercises of chapter 05, attend."""

from typing import Any

import torch

from mhsa_book.exercises.kinds import Exercise, Invented, Value
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


EXERCISES: dict[str, Exercise] = {
    "attend_by_hand": Value(
        _by_hand,
        because="The weights are 1/8, 2/8 and 5/8.",
        wrong={
            4: "That is the plain average. The weights are in the ratio 1 : 2 : 5.",
            16: "Divide by the sum of 1, 2 and 5: weights sum to 1.",
        },
    ),
    "attend_elsewhere": Invented(
        _looks_at_itself, because="The part of b that points the way of a is longer than a."
    ),
}
