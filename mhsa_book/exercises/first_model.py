"""Exercises of chapter 00, a model finishes a sentence."""

import operator
from functools import cache
from typing import Any

from mhsa_book import examples, models
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value

PROMPT = "When Mary and John went to the store, John gave a drink to"
OTHER = PROMPT.replace("Mary", "Anna")

NINE = ((23, 3), (20, 0), (18, 0), (19, 2), (17, 4), (16, 0), (29, 0), (24, 4), (23, 1))
"""The heads of the chapter: six for Mary, three against her."""

PRINTED = {"capital of France is", "Hello, my name is", "is the capital of", "a cup of"}
"""How the prompts end of which the chapter has shown that they get one answer."""


@cache
def language_model() -> models.LanguageModel:
    """The model of the chapter, loaded once."""
    return models.load("SmolLM2-135M")


def every_head() -> list[tuple[int, int]]:
    """All heads of the model, as (layer, head)."""
    lm = language_model()
    return [(layer, head) for layer in range(lm.n_layers) for head in range(lm.n_heads)]


def _changed_rows() -> list[int]:
    """How many rows another name changes: with attention, and without."""
    lm = language_model()
    changed = []
    for off in ([], every_head()):
        with lm.without(off):
            moved = (lm.logits(PROMPT) - lm.logits(OTHER)).abs().amax(dim=-1)
        changed.append(int((moved > 1e-2).sum()))
    return changed


def _fault_of_pair(answer: Any) -> str:
    """Why two prompts are not what was asked for; "" if they are."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        return "Two prompts are asked for: (first, second)."
    if not all(isinstance(text, str) and len(text.split()) >= 3 for text in answer):
        return "Each prompt is a text of at least three words."
    if any(text.strip().endswith(end) for text in answer for end in PRINTED):
        return "One of them is in the chapter. Write two of your own."
    lm = language_model()
    last = [lm.tokens(text)[-1] for text in answer]
    if last[0] != last[1]:
        ends = " and ".join(map(repr, last))
        return f"Without attention it can tell them apart: they end in {ends}."
    says = [lm.next(text, 1)[0][0] for text in answer]
    if says[0] == says[1]:
        return f"With attention it says {says[0]!r} after both; it should say two things."
    return ""


def _fault_of_heads(answer: Any) -> str:
    """Why four heads are not what was asked for; "" if they are."""
    heads = {(operator.index(layer), operator.index(head)) for layer, head in answer}
    if len(heads) != 4 or len(answer) != 4:
        return "Four different heads are asked for, each as (layer, head)."
    if others := heads - {*NINE}:
        return f"{sorted(others)} are not among the nine heads of the chapter."
    lm = language_model()
    with lm.without(sorted(heads), how="mean", over=examples.giving_sentences()):
        of_all = lm.logits(PROMPT)[-1].softmax(dim=-1)
    mary, john = (float(of_all[lm.id(name)]) for name in (" Mary", " John"))
    if mary >= john:
        return f"Mary is still ahead, with {mary:.2f} to {john:.2f}."
    return ""


EXERCISES: dict[str, Exercise] = {
    "changed_rows": Value(
        _changed_rows,
        because="With attention the new name reaches every later row; without it, none.",
        wrong={
            (14, 1): "The row of `When` comes before the name, and receives from no later row.",
            (13, 0): "Without attention, is the row of the name itself still the same?",
            (14, 0): "Which rows come before the name? And is the name's own row the same?",
            (1, 1): "With attention, rows behind the name receive from it.",
            (13, 13): "Without attention, how could a later row hear of the name?",
            (14, 14): "A row receives only from earlier rows, and only through attention.",
            (12, 0): "Count the row of the name itself as well.",
        },
    ),
    "blind_pair": OpenAnswer(
        _fault_of_pair,
        because="Their last tokens are the same, so only attention tells the two apart.",
    ),
    "four_heads": OpenAnswer(
        _fault_of_heads,
        because="Four of 270 heads, and the model names the one who gives.",
    ),
}
