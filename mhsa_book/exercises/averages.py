"""Exercises of chapter 01, from averages to attention."""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from mhsa_book import examples
from mhsa_book.exercises import bugs
from mhsa_book.exercises.drawn_inputs import drawn, matrices
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_lib import functional
from mhsa_lib.tracing.wires import trace


def weight_of_animal() -> float:
    """What "tired" gives to "animal": one score of 8 against six of 0."""
    return math.exp(8) / (math.exp(8) + 6)


def one_head(x: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor) -> Tensor:
    """Self-attention with one table of weights, (batch, seq, d_head)."""
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    return functional.mix(
        functional.softmax(functional.score(q, k, q.shape[-1] ** -0.5), None), v
    )


def too_can_decide() -> bool:
    """Whether any of a hundred drawn heads prefers another noun in the other sentence."""
    x = examples.sentences()
    animal, street, too = 1, 4, 5
    for seed in range(100):
        q, k = x @ drawn(12, 4, seed=seed), x @ drawn(12, 4, seed=100 + seed)
        weights = functional.softmax(functional.score(q, k, 4**-0.5), None)
        prefers = weights[:, too, animal] > weights[:, too, street]
        if prefers[0] != prefers[1]:
            return True
    return False


def not_halved(sentence: str) -> str:
    """Say where the last word looks, unless two words that fit get half of its weight each."""
    if not isinstance(sentence, str):
        return "Hand over the sentence as text, in quotation marks."
    mha, words = examples.attention(), sentence.split()
    with torch.no_grad(), trace(mha) as wires:
        mha(examples.embed(sentence))
    weights, scores = wires["weights"][0, -1], wires["scores"][0, -1]
    if scores.max() <= 0:
        return (
            "The last word finds nothing that fits: its best score is 0, so all of its words "
            "are equally bad."
        )
    if (weights > 0.4).sum() == 2:
        return ""
    most = int(weights.argmax())
    return f"The largest weight is {weights[most]:.2f}, on {words[most]!r} (word {most})."


def _inputs() -> Iterator[dict[str, Any]]:
    for batch, seq, d_model, d_head, d_value in (
        (1, 1, 2, 2, 2),
        (1, 2, 2, 2, 2),
        (2, 3, 4, 2, 3),
        (2, 7, 12, 4, 4),
    ):
        maps = matrices(d_model, d_head, "QK") | {"W_V": drawn(d_model, d_value, seed=3)}
        yield {"x": drawn(batch, seq, d_model), **maps}


EXERCISES: dict[str, Exercise] = {
    "weight_of_animal": Value(
        weight_of_animal,
        because="One word with e⁸ against six with e⁰ = 1.",
        wrong={
            1.0: "Nearly. The six other words have score 0, and e⁰ is 1, not 0.",
            2981 / 2986: "There are six other words: *tired* itself is one of them.",
            8 / 14: "The softmax divides powers of e, not the scores themselves.",
        },
    ),
    "one_head": FunctionWithKnownMistakes(one_head, _inputs, exhibits=bugs.singles()),
    "half_and_half": OpenAnswer(
        not_halved, because="Two words fit equally well, and each gets half."
    ),
    "too_can_decide": Value(
        too_can_decide,
        because="Its query and both keys are the same numbers in both sentences.",
        wrong={True: "Which vectors make the score of *too* and *animal*? Do they change?"},
    ),
}
