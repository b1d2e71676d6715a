"""Exercises of chapter 14, how many heads."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import torch
from torch import Tensor

from mhsa_book.exercises.kinds import Exercise, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes

CODES = ((1, 1), (1, -1), (-1, 1), (-1, -1))
"""Two signs, in the order of the chapter."""


def themselves(a: int, b: int) -> list[int]:
    """Codes that score highest with themselves, if a code becomes a · first + b · second."""
    number = torch.tensor(CODES) @ torch.tensor([a, b])
    return [i for i, row in enumerate(number[:, None] * number) if int(row.argmax()) == i]


def tells_apart(A: Tensor) -> bool:
    """Whether no code of signs scores as high with a neighbour as with itself, all tried."""
    for signs in product((-1.0, 1.0), repeat=len(A)):
        code = torch.tensor(signs, dtype=A.dtype)
        for i in range(len(A)):
            other = code.clone()
            other[i] = -other[i]
            if not float(code @ A @ code) > float(code @ A @ other):
                return False
    return True


def matrices() -> Iterator[dict[str, Any]]:
    """Square matrices, the smallest first; some are symmetric, some of low rank."""
    for rows in (
        [[1.0]],
        [[-1.0]],
        [[1.0, 0.0], [0.0, 1.0]],
        [[1.0, 2.0], [2.0, 4.0]],
        [[2.0, 3.0], [1.0, 4.0]],
        [[4.0, 1.0], [3.0, 2.0]],
        [[-3.0, 0.0], [0.0, 3.0]],
        [[3.0, -1.0, 1.0], [-1.0, 3.0, 0.0], [1.0, 1.0, 3.0]],
        [[3.0, 1.0, 1.0], [2.0, 3.0, 1.0], [1.0, 2.0, 3.0]],
    ):
        yield {"A": torch.tensor(rows)}


def _outweighs(A: Tensor, dim: int) -> bool:
    """Whether the diagonal outweighs the rest, as numbers without a sign, along an axis."""
    return bool((2 * A.diagonal() > A.abs().sum(dim=dim)).all())


NOT_APART = {
    lambda A: bool(torch.linalg.matrix_rank(A) == len(A)): (
        "Full rank is needed, and not enough: a code may still score higher with a neighbour."
    ),
    lambda A: bool((A.diagonal() > 0).all()): (
        "A positive diagonal is not enough: the rest of its column may outweigh it."
    ),
    lambda A: _outweighs(A, dim=1): (
        "It sums the rows. When a sign of the other code changes, which numbers of A change "
        "sign together?"
    ),
}


EXERCISES: dict[str, Exercise] = {
    "look_ups_at_once": Value(
        lambda: 64 // 16,
        because="Each look-up takes a head, and each head 16 columns.",
        wrong={
            16: "That is the width of a head: of how many such heads do 64 columns make?",
            64: "A head of one column compares one number, and 16 are asked for.",
        },
    ),
    "find_themselves": Value(
        lambda: themselves(1, -2),
        because="On a line only the two outer numbers are the largest for anybody.",
    ),
    "tells_apart": FunctionWithKnownMistakes(
        tells_apart,
        matrices,
        because="In every column the diagonal outweighs the rest; so the rank is full.",
        mistakes=NOT_APART,
    ),
}
