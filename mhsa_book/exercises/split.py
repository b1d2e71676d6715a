"""Exercises of chapter 04, split."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from mhsa_book.exercises import bugs, reference
from mhsa_book.exercises import drawn_inputs as inputs
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_lib import functional


def _split(q: Tensor) -> Tensor:
    """What the library does, for whole numbers too: a reader may hand in addresses."""
    return q.unflatten(-1, (3, -1)).transpose(1, 2)


_SPLITS: tuple[tuple[str, bool, Callable[[Tensor], Tensor]], ...] = (
    ("the split of the library", True, _split),
    (
        "a split whose first head owns columns 0, 3, 6 and 9",
        True,
        lambda q: q.unflatten(-1, (4, 3)).movedim(-1, 1),
    ),
    ("q.view(2, 3, 7, 4)", False, lambda q: q.reshape(2, 3, 7, 4)),
    (
        "q.view(7, 2, 3, 4).permute(1, 2, 0, 3), which mixes the sentences",
        False,
        lambda q: q.reshape(7, 2, 3, 4).permute(1, 2, 0, 3),
    ),
    ("a split that reverses the words", False, lambda q: _split(q).flip(2)),
    ("a split that exchanges the sentences", False, lambda q: _split(q).flip(0)),
)
"""Ways to cut (2, 7, 12) into (2, 3, 7, 4), and whether each word keeps its own numbers."""


def _place_in_memory() -> int:
    return int(functional.split_heads(torch.arange(168.0).view(2, 7, 12), 3)[1, 1, 4, 2])


CASES = {
    "one sentence": (1, 3, 7, 4),
    "one head": (2, 1, 7, 12),
    "one word": (2, 3, 1, 4),
    "heads of one number": (2, 3, 7, 1),
    "as many heads as words": (2, 7, 7, 4),
}
"""Shapes (batch, head, seq, d_head) of a right split, by what is special about them."""


def _harmless() -> frozenset[str]:
    """In which cases the wrong view has the same numbers as the right split."""
    found = set()
    for name, (batch, n_heads, seq, d_head) in CASES.items():
        numbers = torch.arange(float(batch * seq * n_heads * d_head))
        q = numbers.view(batch, seq, n_heads * d_head)
        if torch.equal(q.view(batch, n_heads, seq, d_head), functional.split_heads(q, n_heads)):
            found.add(name)
    return frozenset(found)


def _misjudges(answer: Any) -> str:
    """Which split an answer takes for what it is not; "" if none."""
    if not callable(answer):
        return "Hand over a function that takes a split and says True or False."
    for name, honest, split in _SPLITS:
        if bool(answer(split)) is not honest:
            return f"It says {not honest} of {name}; right is {honest}."
    return ""


EXERCISES: dict[str, Exercise] = {
    "split_heads": FunctionWithKnownMistakes(
        reference.split_heads,
        inputs.rows,
        exhibits=bugs.splits(),
        axes="batch head seq d_head",
        learns=True,
    ),
    "place_in_memory": Value(
        _place_in_memory,
        because="1 · 84 for the sentence, 1 · 4 for the head, 4 · 12 for the word, and 2.",
        wrong={
            54: "That is the same number of the first sentence.",
            130: "That is its place in q.view(2, 3, 7, 4), the wrong view.",
            146: "Words are 12 numbers apart and heads 4: are the two axes exchanged?",
        },
    ),
    "harmless_view": Value(
        _harmless,
        because="With one head or one word there are no two axes to be exchanged.",
        wrong={
            frozenset({"one head"}): "That is one of them. There is another.",
            frozenset({"one word"}): "That is one of them. There is another.",
            frozenset({"one head", "one word", "as many heads as words"}): (
                "With as many heads as words the *shapes* are equal even without transpose; "
                "are the numbers?"
            ),
            frozenset({"one head", "one word", "one sentence"}): (
                "How many sentences there are does not matter; they are in front."
            ),
            frozenset({"one head", "one word", "heads of one number"}): (
                "With d_head 1, head 0 of the wrong view has the first seven numbers of the "
                "sentence. Are these one number of each word?"
            ),
        },
    ),
    "keeps_words_apart": OpenAnswer(
        _misjudges,
        because="Every row of a head holds numbers of its own word, in its own sentence.",
    ),
}
