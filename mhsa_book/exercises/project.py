"""Exercises of chapter 03, project."""

from typing import Any

import torch
from torch import Tensor

from mhsa_book import examples
from mhsa_book.exercises import build_a_head
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_lib.tracing import trace


def _key_of_wide() -> list[int]:
    return [round(number) for number in examples.running()["k"][1, 6, :4].tolist()]


def _query_of_token_1() -> list[float]:
    x, mha = examples.worked()
    return [round(number, 2) for number in (x[1] @ mha.project.W_Q.weight.T)[:2].tolist()]


def _different_rows() -> int:
    """How many rows of y differ if ``x`` says what a word is and not where it stands."""
    x = examples.meanings(["the", "animal", "avoided", "the", "street"])
    with torch.no_grad():
        return len(examples.attention()(x[None])[0].round(decimals=4).unique(dim=0))


PLACES = (
    "the animal avoided the street too tired",
    "the animal avoided the street too wide",
    "a river left this hungry child so muddy",
    "the dog so very afraid crossed the field",
)
"""In each of them one noun is a place and one is living, in either order."""


def _fault_of_place(answer: Any) -> str:
    """Why the place does not find who is living; "" if it does, in every sentence."""
    maps = [torch.as_tensor(W, dtype=torch.float64).detach() for W in answer]
    if fault := build_a_head.fault_of_shapes(maps, len(examples.COLUMNS)):
        return fault
    W_Q, W_K, W_V = maps
    for sentence in PLACES:
        words, x = sentence.split(), examples.embed(sentence).double()
        place, living = (_noun(words, kind) for kind in ("place", "living"))
        scores = (x @ W_Q) @ (x @ W_K).T / W_Q.shape[1] ** 0.5
        weights = scores.softmax(dim=-1)[place]
        said = f"In “{sentence}”, {words[place]!r} "
        if weights[living] < build_a_head.ENOUGH:
            return said + _found_instead(words, place, living, weights)
        z = weights @ x @ W_V
        if (z - torch.tensor([1.0, 0.0]).double()).abs().max() > 0.2:
            return (
                f"{said}finds {words[living]!r}, but z is ({z[0]:.2f}, {z[1]:.2f}) and should "
                f"be near (1, 0), living and no place: look at W_V."
            )
    return ""


def _noun(words: list[str], kind: str) -> int:
    kinds = [examples.VOCABULARY[word] for word in words]
    (found,) = (i for i, each in enumerate(kinds) if "noun" in each and kind in each)
    return found


def _found_instead(words: list[str], place: int, living: int, weights: Tensor) -> str:
    """Which mistake the weights of a place show, when it does not find who is living."""
    qualities = [i for i, word in enumerate(words) if "quality" in examples.VOCABULARY[word]]
    if any(weights[i] > 0.3 for i in qualities):
        return (
            "gives much weight to the quality: it is said of something living, and so it has "
            "a 1 in *living* too. What must its key be, so that it is not found?"
        )
    most = int(weights.argmax())
    return (
        build_a_head.fault_of_weights(words, place, living, weights)
        or f"gives most weight, {weights[most]:.2f}, to {words[most]!r}."
    )


def _misses_the_next_word(hands: Any) -> str:
    """Which word does not look at the next one; "" if all but the first and the last do."""
    if not isinstance(hands, Tensor) or hands.shape != (4, 4):
        return "It has to be a tensor of shape (4, 4): a row and a column for each number."
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
    "query_of_token_1": Value(
        _query_of_token_1,
        because="Row 1 of x times the two columns of W_Q that belong to head 0.",
        wrong={
            (0.0, 1.45): "That is the query of token 0.",
            (-0.27, 0.94): "These are the columns of head 1; head 0 has columns 0 and 1.",
            (-0.5, 1.0): "That is the key: for the query, take W_Q.",
        },
    ),
    "place_finds_living": OpenAnswer(
        _fault_of_place,
        because=f"In {len(PLACES)} sentences the place finds the noun that is living.",
    ),
    "different_rows": Value(
        _different_rows,
        because="The two words *the* have one row in x, and so they have one row in y.",
        wrong={
            5: "Two of the five words are the same word. What tells their rows of x apart?",
            3: "Only rows of words that are equal must be equal. Which words are?",
            1: "Different words have different rows of x, and so different queries.",
        },
    ),
    "next_word": OpenAnswer(
        _misses_the_next_word,
        because="It rotates forward by one word, and every word inside finds the next.",
    ),
}
