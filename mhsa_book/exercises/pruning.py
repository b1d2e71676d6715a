"""Exercises of chapter 12b, which heads can go."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from mhsa_book.exercises.kinds import Exercise, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_lib.variants.gated import HardConcrete

D_MODEL, D_HEAD = 512, 64
"""Of the attention whose head goes, without biases."""


def of_a_head() -> int:
    """Parameters that go with a head: rows of three maps, and columns of the fourth."""
    return 4 * D_MODEL * D_HEAD


def closed(log_alpha: float = -2.0) -> float:
    """How often a gate that is drawn is exactly 0."""
    return HardConcrete(1, log_alpha=log_alpha).probabilities().closed.item()


def kept(W_Q: Tensor, W_O: Tensor, keep: list[int], d_head: int) -> tuple[Tensor, Tensor]:
    """Two maps with some heads only, as nn.Linear keeps them: (out, in)."""
    columns = [head * d_head + i for head in keep for i in range(d_head)]
    return W_Q[columns], W_O[:, columns]


def maps() -> Iterator[dict[str, Any]]:
    """Maps of a few heads, and which of them stay."""
    for d_model, n_heads, d_head, keep in (
        (2, 2, 1, [1]),
        (4, 2, 2, [0]),
        (4, 2, 2, [1]),
        (3, 3, 2, [0, 2]),
        (6, 3, 2, [1, 2]),
        (8, 4, 2, [0, 1, 3]),
    ):
        size = n_heads * d_head
        W_Q = torch.arange(size * d_model).view(size, d_model)
        yield {"W_Q": W_Q, "W_O": 100 + W_Q.mT.contiguous(), "keep": keep, "d_head": d_head}


def _others(keep: list[int], n_rows: int, d_head: int) -> list[int]:
    return [head for head in range(n_rows // d_head) if head not in keep]


def _dealt(W_Q: Tensor, W_O: Tensor, keep: list[int], d_head: int) -> tuple[Tensor, Tensor]:
    """Every n_heads-th row for a head."""
    n_heads = len(W_Q) // d_head
    rows = [head + n_heads * i for head in keep for i in range(d_head)]
    return W_Q[rows], W_O[:, rows]


CUT_WRONGLY = {
    lambda W_Q, W_O, keep, d_head: (W_Q[keep], W_O[:, keep]): (
        "It keeps one row for each head; a head has d_head of them."
    ),
    lambda W_Q, W_O, keep, d_head: kept(W_Q, W_O, _others(keep, len(W_Q), d_head), d_head): (
        "Those are the heads that should go."
    ),
    lambda W_Q, W_O, keep, d_head: (kept(W_Q, W_O, keep, d_head)[0], W_O): (
        "W_O still reads the heads that have gone: as many columns as W_Q has rows now."
    ),
    _dealt: "The rows of a head stand side by side: the first d_head belong to head 0.",
}


EXERCISES: dict[str, Exercise] = {
    "parameters_of_a_head": Value(
        of_a_head,
        because="64 rows of 512 in each of three maps, and 64 columns of 512 in W_O.",
        wrong={
            3 * D_MODEL * D_HEAD: "W_O reads the head, too.",
            D_MODEL * D_HEAD: "That is one map; a head has rows or columns in four.",
            4 * D_MODEL * D_MODEL: "Those are the parameters of all eight heads.",
        },
    ),
    "share_closed": Value(
        closed,
        because="Three draws in four are exactly 0, about; one in seventeen is exactly 1.",
        wrong={1 - closed(): "That is how often the gate is not 0."},
    ),
    "heads_kept": FunctionWithKnownMistakes(
        kept,
        maps,
        because="A head has d_head rows of W_Q side by side, and so many columns of W_O.",
        mistakes=CUT_WRONGLY,
    ),
}
