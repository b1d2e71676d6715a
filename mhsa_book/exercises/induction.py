"""Exercises of chapter 13, induction."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
from torch import Tensor

from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_book.models import repeater, repetition
from mhsa_lib import masks
from mhsa_lib.tracing.wires import trace

TEXT = "1a2 3a4 5a6 3a"
PREVIOUS = 2
"""The head of layer 0 that looks one token back."""


@cache
def model() -> repeater.Repeater:
    """The Repeater."""
    return repeater.load()


@cache
def fresh() -> repetition.Sequences:
    """The 200 sequences of the chapter."""
    return repetition.draw(200, repeater.START, torch.Generator().manual_seed(12))


def hesitating() -> int:
    """The head of layer 0 without which 4 and 6 are the two likeliest tokens."""
    return next(head for head in range(4) if sorted(likeliest_without(head)) == ["4", "6"])


def likeliest_without(head: int) -> list[str]:
    """The two likeliest tokens after the text when a head of layer 0 is off."""
    with repeater.without(model(), (0, head)):
        return repeater.spell(model().predict(TEXT)[-1].topk(2).indices)


def written(*heads: int) -> Tensor:
    """What some heads of layer 0 write into the stream of the 200 sequences."""
    first: Any = model().layers[0]
    x = model().embed(fresh().inputs)
    with trace(first) as wires:
        first(x, mask=masks.causal)
    keep = torch.tensor([head in heads for head in range(4)]).float()
    return first.W_O(first.concat(wires["z"] * keep[:, None, None]))


def without_note() -> Tensor:
    """The stream after layer 0, but for what the previous-token head wrote."""
    return model().embed(fresh().inputs) + written(0, 1, 3)


def _other_streams() -> Iterator[tuple[Tensor, str]]:
    """What may be taken for that stream, and why it is another."""
    x, everything = model().embed(fresh().inputs), written(0, 1, 2, 3)
    yield x, "It holds nothing of layer 0. Add what the other three heads wrote."
    yield x + everything, "Nothing is missing: the previous-token head's part is still in it."
    yield written(0, 1, 3), "That is what the other three heads wrote. Add it to x."
    yield written(PREVIOUS), "That is the part that should be missing, and without x."
    yield x + written(PREVIOUS), "That holds the previous-token head's part and no other."
    yield x - written(PREVIOUS), "The part was never in x. Begin with x plus all of layer 0."
    for head in (0, 1, 3):
        rest = (each for each in range(4) if each != head)
        yield (
            x + written(*rest),
            f"That leaves out the part of L0H{head}. The previous-token head is L0H2.",
        )


def _fault_of_stream(before: Any) -> str:
    if not isinstance(before, Tensor):
        return f"It is a {type(before).__name__}; the stream is a tensor, as x is."
    right = without_note()
    if before.shape != right.shape:
        return f"The shape is {tuple(before.shape)}; that of x is {tuple(right.shape)}."
    if _same(before, right):
        return ""
    known = [why for stream, why in _other_streams() if _same(before, stream)]
    return (
        known[0]
        if known
        else ("It is another stream: x, plus W_O of three heads' z under the causal mask.")
    )


def _same(found: Tensor, expected: Tensor) -> bool:
    return torch.allclose(found.double(), expected.double(), atol=1e-4)


def _fault_of_text(text: Any) -> str:
    """Why a text is not one that ends in x and where p wins over the later q; "" if it is."""
    if not isinstance(text, str):
        return f"It is a {type(text).__name__}; write a text in quotes."
    probabilities = model().predict(text)[-1]  # says itself what it cannot read
    text = text.lower()
    if not text.endswith("x"):
        return "It has to end in x."
    first, last = text.find("xp"), text.rfind("xq")
    if first < 0 or last < 0:
        return f"No x is followed by {'p' if first < 0 else 'q'}."
    if last < first:
        return "First x is followed by p, and later by q; here it is the other way round."
    if text.rfind("xp") > last:
        return "After the last xq comes another xp. Let q be what followed x last."
    p = float(probabilities[repeater.ALPHABET.index("p")])
    if p > 0.5:
        return ""
    (likeliest,) = repeater.spell(probabilities.topk(1).indices)
    return (
        f"The model gives p {p:.2f}; its first guess is {likeliest}, with "
        f"{probabilities.max():.2f}. Two of its heads match two tokens, not only the x."
    )


EXERCISES: dict[str, Exercise] = {
    "hesitating_head": Value(
        hesitating,
        because="L0H3 looks two back. Without it 4 and 6 are nearly equally likely.",
        wrong={
            0: "Without L0H0 the model says 4 as before.",
            1: "Without L0H1 the model says 4 as before.",
            2: "Without L0H2 the model forgets both: it no longer knows what followed an a.",
            4: "The heads of a layer are 0 to 3.",
            (0, 3): "That is the head; give its number only.",
            "L0H3": "That is the head; give its number only.",
        },
    ),
    "without_the_note": OpenAnswer(
        _fault_of_stream,
        because="Accuracy 0.86, of 0.99 with all of layer 0 and 0.24 with none of it.",
    ),
    "first_wins": OpenAnswer(
        _fault_of_text,
        because="What stands before an x decides which x is the one to copy after.",
    ),
}
