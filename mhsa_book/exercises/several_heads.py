"""Exercises of chapter 02, why more than one head."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from mhsa_book import examples
from mhsa_book.exercises.kinds import Exercise, OpenAnswer
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.tracing.wires import trace

SHARES, VALUES = (0.7, 0.3), (2.0, 8.0)
"""The weights of one head on two words, and what these say."""
KNOWN = (VALUES, (5.0, 1.0))
"""The pairs with this average that the chapter itself names."""


def uncut(scores: Tensor) -> Tensor:
    """The weights of one wide head, from the scores (head, key) of the narrow heads in it."""
    return torch.softmax(scores.sum(dim=0) / len(scores) ** 0.5, dim=-1)


def _scores() -> Iterator[dict[str, Any]]:
    yield {"scores": torch.tensor([[0.0, 1.0]])}
    yield {"scores": torch.tensor([[8.0, 0.0], [-9.0, 0.0]])}
    yield {"scores": torch.tensor([[2.0, 0.0, 1.0], [0.0, 2.0, 1.0], [0.0, 0.0, 1.0]])}
    yield {"scores": examples.running()["scores"][1, :, 6]}


def _unlike_them(pair: Any) -> str:
    """What is wrong with two values that shall have the same average."""
    given = torch.tensor([float(value) for value in pair])
    if given.shape != (2,) or not given.isfinite().all():
        return "Give two numbers, as in (2, 8)."
    shares = torch.tensor(SHARES)
    found, wanted = float(shares @ given), float(shares @ torch.tensor(VALUES))
    if abs(found - wanted) > 1e-4:
        return f"Their average is {found:.4f}, not {wanted:.4f}."
    if any(torch.allclose(given, torch.tensor(known), atol=0.01) for known in KNOWN):
        return "These two values stand in the text; find others."
    return ""


def _lost(sentence: Any) -> str:
    """What is wrong with a sentence in which one head shall find who is meant."""
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


CUT_ALL_THE_SAME = {
    lambda scores: scores.softmax(dim=-1).mean(dim=0): (
        "That is the mean of the narrow heads' maps. A wide head has one softmax only."
    ),
    lambda scores: scores.sum(dim=0).softmax(dim=-1): (
        "The sum of the scores is right. But each was divided by the root of its own width: "
        "for the wide head, what is still missing?"
    ),
    lambda scores: scores.mean(dim=0).softmax(dim=-1): (
        "n narrow heads are n times as wide, and the root of n is what is divided by, not n."
    ),
}


EXERCISES: dict[str, Exercise] = {
    "same_average": OpenAnswer(
        _unlike_them, "The average alone does not tell the pairs apart."
    ),
    "uncut": FunctionWithKnownMistakes(
        uncut, _scores, "All questions are added before the one softmax.", CUT_ALL_THE_SAME
    ),
    "one_head_is_enough": OpenAnswer(_lost, "Here no question takes the answer from another."),
}
