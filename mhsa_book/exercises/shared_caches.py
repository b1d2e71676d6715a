"""Exercises of chapters 26 and 26a: windows in a stack, states, and summaries of tokens."""

from collections.abc import Callable, Iterator
from math import ceil
from typing import Any

import torch
from torch import Tensor

from mhsa_book.exercises.drawn_inputs import drawn
from mhsa_book.exercises.kinds import Exercise, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes

LAYERS, WINDOW = 40, 128
STATE = 4 * 32 * 128 * 128
"""Bytes of a state of Kimi Linear: 32 heads, in float32."""
LATENT = 2 * 576
"""Bytes that a token leaves in one of its layers with a latent, in 16 bits."""


def reach() -> int:
    """How many tokens back a query reaches through layers that have a window each."""
    return LAYERS * (WINDOW - 1)


def break_even() -> int:
    """The first number of tokens of which a latent layer keeps more than a state."""
    return ceil(STATE / LATENT)


def summaries(v: Tensor, gate: Tensor, m: int) -> Tensor:
    """One row for every m rows of v, mixed column by column with the softmax of the gate."""
    whole = len(v) // m * m
    rows, gates = (each[:whole].unflatten(0, (-1, m)) for each in (v, gate))
    return (gates.softmax(1) * rows).sum(1)


def _mean(v: Tensor, gate: Tensor, m: int) -> Tensor:
    return v[: len(v) // m * m].unflatten(0, (-1, m)).mean(1)


def _over_columns(v: Tensor, gate: Tensor, m: int) -> Tensor:
    whole = len(v) // m * m
    return (gate.softmax(-1) * v)[:whole].unflatten(0, (-1, m)).sum(1)


def _over_all(v: Tensor, gate: Tensor, m: int) -> Tensor:
    whole = len(v) // m * m
    return (gate.softmax(0) * v)[:whole].unflatten(0, (-1, m)).sum(1)


def _unfinished(v: Tensor, gate: Tensor, m: int) -> Tensor:
    pairs = zip(v.split(m), gate.split(m), strict=True)
    return torch.stack([(gates.softmax(0) * rows).sum(0) for rows, gates in pairs])


def _without_softmax(v: Tensor, gate: Tensor, m: int) -> Tensor:
    whole = len(v) // m * m
    return (gate * v)[:whole].unflatten(0, (-1, m)).sum(1)


SUMMARIES: dict[Callable[..., Any], str] = {
    _mean: "Every token counts the same; the gate should say how much it counts.",
    _over_columns: "A column's weights should sum to 1 over the m tokens, not over columns.",
    _over_all: "The weights should sum to 1 over the m tokens of a block, not over all tokens.",
    _unfinished: "Tokens that do not fill a block yet have no summary.",
    _without_softmax: "The gate becomes weights by a softmax over the m tokens.",
}


def _rows() -> Iterator[dict[str, Any]]:
    yield {"v": torch.tensor([[0.0], [4.0]]), "gate": torch.zeros(2, 1), "m": 2}
    for n, d, m in ((4, 1, 2), (5, 2, 2), (6, 3, 3), (9, 4, 4)):
        yield {"v": drawn(n, d), "gate": drawn(n, d, seed=1), "m": m}


EXERCISES: dict[str, Exercise] = {
    "window_reach": Value(
        reach,
        because="Each layer reaches 127 tokens further back: 40 times 127.",
        wrong={
            LAYERS * WINDOW: "A window counts the own token, so a layer reaches 127 back.",
            WINDOW - 1: "That is one layer. The next reads what that one has gathered.",
            WINDOW: "That is one layer. The next reads what that one has gathered.",
        },
    ),
    "state_break_even": Value(
        break_even,
        because="1,820 latents have fewer than 4 · 32 · 128 · 128 bytes, and 1,821 have more.",
        wrong={
            ceil(STATE / LATENT / 2): "Four bytes a number in the state, two in the latent.",
            ceil(STATE / LATENT / 32): "There are 32 heads, with a matrix each.",
            ceil(2 * STATE / LATENT): "Four bytes a number in the state, two in the latent.",
            STATE // LATENT: "Of so many tokens the latents are still smaller, by a little.",
        },
    ),
    "summaries": FunctionWithKnownMistakes(
        summaries,
        _rows,
        because="Each block of m tokens leaves one row, and the gate says who counts.",
        mistakes=SUMMARIES,
    ),
}
