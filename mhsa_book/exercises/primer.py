"""Exercises of chapter 00, the primer."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from mhsa_book.exercises.drawn_inputs import drawn
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes

ROWS = ((1.0, 1, 0, 0), (1, 0, 1, 0), (0, 1, 0, 1))  # animal, street, tired
MIXED = (0.5, 0.75, 0.25, 0.5)
WANTED = (0.5, 0.25, 0.25)


def _shares_of_the_mix() -> list[float]:
    """The shares with which the three rows give ``MIXED``."""
    shares = torch.linalg.lstsq(torch.tensor(ROWS).T, torch.tensor(MIXED)[:, None]).solution
    return [round(share, 4) for share in shares.flatten().tolist()]


def _soften(scores: Tensor) -> Tensor:
    return torch.softmax(scores, dim=-1)


def _scores() -> Iterator[dict[str, Any]]:
    """One score, two, a square table (its sums fit the wrong way round too), a batch."""
    for shape in ((1,), (2,), (2, 2), (2, 3), (2, 3, 4)):
        yield {"scores": drawn(*shape)}


def _other_shares(scores: Any) -> str:
    """Say which shares the scores have; "" if they are the wanted ones."""
    shares = torch.softmax(torch.as_tensor(scores, dtype=torch.float64), dim=-1)
    if shares.shape == (3,) and (shares - torch.tensor(WANTED)).abs().max() < 0.005:
        return ""
    return f"Their shares are {', '.join(f'{share:.2f}' for share in shares.flatten())}."


UNSOFT = {
    lambda scores: torch.softmax(scores, dim=0): (
        "It shares along the first axis. The scores of a row stand along the last one."
    ),
    lambda scores: scores.exp() / scores.exp().sum(): (
        "It divides by the sum of the whole table; each row has a sum of its own."
    ),
    lambda scores: scores / scores.sum(dim=-1, keepdim=True): (
        "It divides the scores themselves. Powers of e come first: no share is negative."
    ),
    lambda scores: scores.exp(): "Powers of e, not divided by the sum of their row yet.",
}


EXERCISES: dict[str, Exercise] = {
    "shares_of_the_mix": Value(
        _shares_of_the_mix,
        because="Place comes from street alone and quality from tired alone.",
        wrong={
            (0.25, 0.5, 0.25): "Only street has a 1 in place, and place is 0.25 in the mix.",
            (0.5, 0.25, 0.5): "Then noun would be 0.75. Street gives it a part as well.",
            (0.75, 0.25, 0.5): "Living comes from animal and from tired.",
        },
    ),
    "soften": FunctionWithKnownMistakes(
        _soften,
        _scores,
        because="Each row has its own sum. (Plain exp gives nan from 89 on: see chapter 05.)",
        mistakes=UNSOFT,
    ),
    "scores_for_shares": OpenAnswer(
        _other_shares,
        because="Adding one number to all three scores would give the same shares.",
    ),
}
