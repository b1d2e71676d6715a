"""Exercises of chapter 03, project."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from mhsa_book import examples
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_lib.tracing import trace


def _key_of_wide() -> list[int]:
    return [round(number) for number in examples.running()["k"][1, 6, :4].tolist()]


def _unpack(rows: Tensor, n_heads: int) -> tuple[Tensor, ...]:
    """q, k and v of all heads, from rows that hold q, k, v of head 0, then those of head 1."""
    by_head = rows.unflatten(-1, (n_heads, 3, -1))
    return tuple(part.flatten(-2) for part in by_head.unbind(-2))


def _packed_rows() -> Iterator[dict[str, Any]]:
    for n_heads, d_head in ((1, 1), (2, 1), (2, 2), (3, 4)):
        rows = torch.arange(2.0 * 3 * n_heads * d_head).view(1, 2, -1)
        yield {"rows": rows, "n_heads": n_heads}


def _misses_the_next_word(hands: Any) -> str:
    """Which word does not look at the next one; "" if all but the first and the last do."""
    if not isinstance(hands, Tensor) or hands.shape != (4, 4):
        return "It has to be a tensor of shape (4, 4): a row and a column for each hand."
    mha, (words, _) = examples.attention(), examples.SENTENCES
    with torch.no_grad(), trace(mha) as wires:
        mha.project.W_Q.weight[4:8, 8:] = hands.to(torch.float32).T
        mha(examples.sentences())
    for i in range(1, 6):
        weights = wires["weights"][0, 1, i]
        j = int(weights.argmax())
        if j != i + 1 or weights[j] < 0.9:
            return (
                f'Word {i}, "{words[i]}", gives most weight, {weights[j]:.2f}, to word {j}, '
                f'"{words[j]}"; word {i + 1} should get more than 0.90.'
            )
    return ""


PACKED_OTHERWISE = {
    lambda rows, n_heads: rows.chunk(3, dim=-1): (
        "So nn.MultiheadAttention packs: q of all heads, then k, then v. Here each head has "
        "its q, k and v side by side."
    ),
    lambda rows, n_heads: rows.unflatten(-1, (n_heads, -1, 3)).flatten(-3, -2).unbind(-1): (
        "It deals the numbers out one by one. q of a head is a piece of d_head numbers."
    ),
    lambda rows, n_heads: rows.unflatten(-1, (n_heads, 3, -1)).unbind(-2): (
        "The cut is right; the heads of q still have to stand side by side in one row."
    ),
}


EXERCISES: dict[str, Exercise] = {
    "key_of_wide": Value(
        _key_of_wide,
        because="It offers no place: the row place gives 4, the row quality takes it away.",
        wrong={
            (0, 4, 0, 0): '"wide" is a quality as well: add the row quality of W_K.',
            (-4, -4, 0, 0): '"wide" is a place as well: add the row place of W_K.',
            (0, 4, -4, -4): "Each row has its own four columns; add column by column.",
        },
    ),
    "unpack": FunctionWithKnownMistakes(_unpack, _packed_rows, mistakes=PACKED_OTHERWISE),
    "next_word": OpenAnswer(
        _misses_the_next_word,
        because="The hands are turned forward, and every word inside finds the next.",
    ),
}
