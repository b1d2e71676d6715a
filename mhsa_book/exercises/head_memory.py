"""Exercises of chapter 26, what a head keeps."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from mhsa_book.exercises.drawn_inputs import drawn
from mhsa_book.exercises.kinds import Exercise, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes

LAYERS, GLOBAL, WINDOW, LENGTH = 36, 18, 128, 131_072
TOKEN = 2 * 8 * 64 * 2
"""Bytes that a token leaves in one layer of gpt-oss-120b: 8 key heads of 64, in 16 bits."""


def budget() -> int:
    """Bytes that are kept where half of the layers have a window."""
    return TOKEN * (GLOBAL * LENGTH + (LAYERS - GLOBAL) * WINDOW)


def delta(S: Tensor, k: Tensor, v: Tensor, b: float) -> Tensor:
    """The state after it was told that k means v, with rate b."""
    return S + b * torch.outer(k, v - k @ S)


DELTAS: dict[Callable[..., Any], str] = {
    lambda S, k, v, b: S + b * torch.outer(k, v): (
        "That adds to what is there. First find out what the state says about k: k @ S."
    ),
    lambda S, k, v, b: S + b * torch.outer(v - k @ S, k): "Rows belong to k, columns to v.",
    lambda S, k, v, b: S + torch.outer(k, v - k @ S): "The rate b is missing.",
    lambda S, k, v, b: S - b * torch.outer(k, v - k @ S): "It moves away from v.",
    lambda S, k, v, b: (1 - b) * S + b * torch.outer(k, v): (
        "All of the state is forgotten a little; only what it says about k should change."
    ),
}


def _states() -> Iterator[dict[str, Any]]:
    yield {"S": torch.zeros(1, 1), "k": torch.ones(1), "v": torch.tensor([3.0]), "b": 1.0}
    yield {
        **{"S": torch.tensor([[3.0, 0.0]]), "k": torch.ones(1)},
        **{"v": torch.tensor([0.0, 5.0]), "b": 0.5},
    }
    for d, e in ((2, 2), (3, 2), (4, 4)):
        k = torch.nn.functional.normalize(drawn(d, seed=1), dim=0)
        yield {"S": drawn(d, e), "k": k, "v": drawn(e, seed=2), "b": 0.25}


def copied(weights: Tensor, tokens: Tensor, written: Tensor, needle: range) -> Tensor:
    """Of the needle's different tokens, the share that a head looked at while writing them."""
    best, wanted = weights.argmax(-1), set(tokens[needle.start : needle.stop].tolist())
    found = [
        {int(w) for j, w in zip(row, written, strict=True) if j in needle and tokens[j] == w}
        for row in best.tolist()
    ]
    return torch.tensor([len(each & wanted) / len(wanted) for each in found])


def _hits(weights: Tensor, tokens: Tensor, written: Tensor, needle: range) -> Tensor:
    best = weights.argmax(-1)
    return (tokens[best] == written).float().mean(-1)


def _mass(weights: Tensor, tokens: Tensor, written: Tensor, needle: range) -> Tensor:
    return weights[..., needle.start : needle.stop].sum(-1).mean(-1)


def _counted(weights: Tensor, tokens: Tensor, written: Tensor, needle: range) -> Tensor:
    best = weights.argmax(-1)
    inside = (best >= needle.start) & (best < needle.stop) & (tokens[best] == written)
    return inside.sum(-1) / len(needle)


COPIED: dict[Callable[..., Any], str] = {
    _hits: "It may have looked at the same word outside the needle; that does not count.",
    _mass: "The score asks where a head looks most and what stands there, not for its weight.",
    _counted: "A token that is copied twice counts once: these are sets.",
}


def _needles() -> Iterator[dict[str, Any]]:
    looks = torch.nn.functional.one_hot(torch.tensor([[2, 3], [0, 0]]), 5).float()
    yield {
        **{"weights": looks, "tokens": torch.tensor([7, 8, 1, 2, 9])},
        **{"written": torch.tensor([1, 2]), "needle": range(2, 4)},
    }
    for seed in range(3):
        weights = drawn(3, 6, 8, seed=seed).softmax(-1)
        tokens = torch.tensor([1, 2, 3, 1, 2, 2, 4, 3])
        best = weights[seed].argmax(-1)
        yield {
            **{"weights": weights, "tokens": tokens},
            **{"written": tokens[best], "needle": range(2, 6)},
        }


EXERCISES: dict[str, Exercise] = {
    "head_budget": Value(
        budget,
        because="18 layers keep 131,072 tokens, 18 keep 128, 2,048 bytes each.",
        wrong={
            TOKEN * LAYERS * LENGTH: "Half of the layers keep the last 128 tokens only.",
            TOKEN * GLOBAL * LENGTH: "Those with a window keep something, too: 128 tokens.",
            TOKEN * LENGTH // 2: "That is one layer of 36.",
            budget() // 2: "A key and a value, of 2 bytes a number.",
        },
    ),
    "delta_step": FunctionWithKnownMistakes(
        delta, _states, because="It asks the state first, and corrects it.", mistakes=DELTAS
    ),
    "copied_share": FunctionWithKnownMistakes(
        copied, _needles, because="A head is judged by what it copied.", mistakes=COPIED
    ),
}
