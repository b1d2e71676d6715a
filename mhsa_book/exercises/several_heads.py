"""Exercises of chapter 02, why more than one head."""

from typing import Any

import torch
from torch import Tensor

from mhsa_book import examples
from mhsa_book.exercises.first_model import PROMPT, language_model
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.tracing.editing import edit
from mhsa_lib.tracing.wires import trace

HEADS_NEEDED = (1, 2, 1, 3)
"""For the sum of both neighbours, their difference, one of them by turns, and three players."""

WHY_NEEDED = (
    "One map with ½ for each neighbour brings half of the sum, and W_O can double it.",
    "Weights are never negative. What one head does with one message, it does with the other.",
    "Who asks decides: the query of an even seat may be another than that of an odd seat.",
    "Twelve numbers are asked for, and one head brings four.",
)
"""A hint for each, said when its number is wrong."""

LAYERS = range(16, 25)
"""Layers in which the reader lets all heads share one map, one layer at a time."""


def _miscounted(answer: Any) -> str:
    """What is wrong with numbers of heads for the four games."""
    numbers = [int(number) for number in answer]
    if len(numbers) != len(HEADS_NEEDED):
        return f"Give {len(HEADS_NEEDED)} numbers, one for each game."
    for game, (found, needed, why) in enumerate(
        zip(numbers, HEADS_NEEDED, WHY_NEEDED, strict=True), start=1
    ):
        if found != needed:
            return f"Game {game} does not need {found}. {why}"
    return ""


def one_map(weights: Tensor) -> Tensor:
    """The weights (…, head, query, key) with their mean over the heads in every head.

    >>> one_map(torch.tensor([[[1.0, 0]], [[0.5, 0.5]]])).tolist()
    [[[0.75, 0.25]], [[0.75, 0.25]]]
    """
    return weights.mean(dim=-3, keepdim=True).expand_as(weights)


def _best_with_one_map() -> int:
    """The layer in which one map for all heads makes Mary likeliest."""
    lm, mary = language_model(), {}
    for layer in LAYERS:
        with edit(lm.attention(layer), "weights", one_map):
            mary[layer] = dict(lm.next(PROMPT))[" Mary"]
    return max(mary, key=mary.__getitem__)


def _lost(sentence: Any) -> str:
    """What is wrong with a sentence in which one head should find who is meant."""
    if not isinstance(sentence, str) or not sentence.split():
        return "Give one string of up to eight words."
    words, x = sentence.split(), examples.embed(sentence)
    if "quality" not in examples.VOCABULARY[words[-1]]:
        return f"The last word, {words[-1]}, is no quality such as tired or wide."
    three_heads, one_head = examples.attention(), MultiHeadAttention(12, 1)
    one_head.load_state_dict(three_heads.state_dict())
    with torch.no_grad(), trace(three_heads) as cut, trace(one_head) as whole:
        three_heads(x), one_head(x)
    weight, meant = cut["weights"][0, -1].max(dim=-1)
    if weight < 0.9 or "noun" not in examples.VOCABULARY[words[meant]]:
        return f"Even with three heads, {words[-1]} finds no one noun."
    found = float(whole["weights"][0, -1, meant])
    return "" if found >= 0.5 else f"One head puts {found:.2f} on {words[meant]}."


EXERCISES: dict[str, Exercise] = {
    "heads_needed": OpenAnswer(
        _miscounted, "One head for each mix of messages that has to stay apart from the others."
    ),
    "better_with_one_map": Value(
        _best_with_one_map,
        "In this layer a head that holds Mary back has to share its map.",
        {
            23: "There Mary falls, and John rises. Which layer does the opposite?",
            20: "There Mary falls. Which layer does the opposite?",
        },
    ),
    "one_head_is_enough": OpenAnswer(_lost, "Here no question takes the answer from another."),
}
