"""Exercises of chapter 21, collaborate."""

from typing import Any

import torch

from mhsa_book import examples
from mhsa_book.conversions.to_collaborative import to_collaborative
from mhsa_book.costs import variant_costs
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value

D_MODEL, N_HEADS = 1024, 16
APART = 0.1
"""By how much some weight of two heads has to differ."""


def as_dear_as_plain() -> tuple[int, int]:
    """The shared width at which scores cost what plain ones do, and what a token caches."""
    plain = variant_costs.grouped(D_MODEL, N_HEADS, N_HEADS, n=10).flops["scores"]
    for d_shared in range(1, D_MODEL + 1):
        costs = variant_costs.collaborative(D_MODEL, N_HEADS, d_shared, n=10)
        if costs.flops["scores"] == plain:
            return d_shared, sum(costs.cached.values())
    raise AssertionError("wider than the model")  # one head's width is always there


def opposed_row() -> list[float]:
    """The mixing of head 1 that turns every score of head 0 around."""
    mixing = to_collaborative(examples.random_attention()).split.mixing
    return [-number for number in mixing[0].tolist()]


def unlike(rows: Any) -> str:
    """What is wrong with three rows of mixing for three heads of their own; "" if nothing."""
    mixing = torch.as_tensor(rows, dtype=torch.float64).detach()
    if mixing.shape != (3, 4):
        return f"The shape is {tuple(mixing.shape)}; wanted are 3 rows of 4 numbers."
    if not mixing.isfinite().all():
        return "A number of mixing is infinite, or none at all."
    for row, column in (mixing == 0).nonzero().tolist():
        return f"Row {row} has a 0 in column {column}: this head is blind to it."
    x = examples.random_tokens().double()
    q, k = x[:, :4], x[:, 4:8]
    maps = torch.softmax((q * mixing[:, None]) @ k.T, dim=-1)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        far = (maps[one] - maps[other]).abs().max().item()
        if far <= APART:
            return (
                f"Heads {one} and {other} look alike: no weight differs by more than {far:.2g}."
            )
    return ""


EXERCISES: dict[str, Exercise] = {
    "width_of_plain_scores": Value(
        as_dear_as_plain,
        because="One key of 64 columns, 16 contents and 1024 values.",
        wrong={
            (64, 1088): "The width is right. A token leaves a content for each head, too.",
            (64, 80): "The width is right. The values are cached as well, for every head.",
            (64, 2048): "The width is right. The cache is that of plain attention.",
            (1024, 2064): "At full width each of the 16 heads compares over all 1024 columns.",
            (512, 1552): "At half the width W_Q and W_K are halved; scores cost eight times.",
        },
    ),
    "opposed_row": Value(
        opposed_row,
        because="Every product q k counts with the other sign, so every score does.",
        wrong={
            (1.0,) * 4 + (0.0,) * 8: "With this row head 1 prefers what head 0 prefers.",
            (0.0,) * 4 + (-1.0,) * 4 + (0.0,) * 4: (
                "That turns head 1 around, not head 0: it still reads its own columns."
            ),
            (0.0,) * 12: "Then all scores of head 1 are 0, and it avoids nothing.",
            (-1.0,) * 12: "It reads the columns of all three heads; head 0 reads four.",
            (0.0,) * 4 + (1.0,) * 8: (
                "It reads all that head 0 does not read, not what it avoids."
            ),
        },
    ),
    "three_rows": OpenAnswer(
        unlike, because="Three heads that look in three ways, and all read all four columns."
    ),
}
