"""Exercises of chapter 03a, bias and initialisation."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from mhsa_book.exercises.kinds import Exercise, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_lib.rope import Rotary


def _folded(b_V: Tensor, W_O: Tensor, b_O: Tensor) -> Tensor:
    """The one bias of the output that does what b_V and b_O do together."""
    return b_V @ W_O + b_O


def _biases() -> Iterator[dict[str, Any]]:
    for d_heads, d_model in ((2, 2), (2, 3), (6, 4)):
        yield {
            "b_V": torch.arange(1.0, d_heads + 1),
            "W_O": torch.arange(1.0, d_heads * d_model + 1).view(d_heads, d_model),
            "b_O": 10 * torch.arange(1.0, d_model + 1),
        }


def _that_matter() -> frozenset[str]:
    """Which biases change the weights of a head that rotates queries and keys."""
    generator = torch.Generator().manual_seed(0)
    q, k, bias = (torch.randn(n, 4, generator=generator) for n in (5, 5, 1))
    rotary, places = Rotary(d_rotary=4), torch.arange(5)

    def weights(q: Tensor, k: Tensor) -> Tensor:
        return (rotary(q, places) @ rotary(k, places).T / 2).softmax(dim=-1)

    found = {"b_Q": weights(q + bias, k), "b_K": weights(q, k + bias), "b_V": weights(q, k)}
    before = weights(q, k)
    return frozenset(name for name, w in found.items() if not torch.allclose(w, before))


EXERCISES: dict[str, Exercise] = {
    "folded_bias": FunctionWithKnownMistakes(
        _folded,
        _biases,
        mistakes={
            lambda b_V, W_O, b_O: b_V + b_O: "b_V passes through W_O before it is in y.",
            lambda b_V, W_O, b_O: W_O @ b_V + b_O: "A row meets its matrix as b_V @ W_O.",
            lambda b_V, W_O, b_O: b_V @ W_O: "The bias that is there already, b_O, is lost.",
            lambda b_V, W_O, b_O: (b_V + b_O) @ W_O: "b_O is added after W_O, not before it.",
        },
    ),
    "first_spread": Value(
        lambda: 768 * 0.02**2,
        because="A number of q has variance 768 · 0.02², and so has each number of k.",
        wrong={
            512 * 0.02**2: "That is for rows of 512 numbers. These have 768.",
            (768 * 0.02**2) ** 0.5: "That is the spread of a number of q, not that of a score.",
            8 * 768 * 0.02**2: "That is the spread of q · k. A score is divided by √64.",
            (768 * 0.02**2) ** 2: "That is the variance of a score; its spread is the root.",
        },
    ),
    "biases_that_matter": Value(
        _that_matter,
        because="Rotated by the key's position, b_K adds another number to each score.",
        wrong={
            frozenset({"b_Q"}): "That is right without rotation. What rotates after the bias?",
            frozenset({"b_Q", "b_K", "b_V"}): "Do the weights depend on the values at all?",
            frozenset({"b_K"}): "A constant query makes some keys attractive to every word.",
        },
    ),
}
