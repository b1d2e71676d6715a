"""Exercises of chapter 11, heads of a real model."""

from functools import cache
from typing import Any

import torch
from torch import Tensor

from mhsa_book import measure, models
from mhsa_book.exercises.compare import difference, shown
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value

TEXTS = (
    "The animal didn't cross the street because it was too tired.",
    "My sister borrowed a bicycle from her neighbour and returned it on Sunday.",
    "When the river froze, the children skated to the bank and lit a small fire.",
    "The old clock in the hall stopped years ago, but nobody had the heart to sell it.",
    "After the concert, the musicians packed up and walked home through the rain.",
    "She opened the letter slowly, read it twice, and put it back into the drawer.",
)
"""The six sentences of the chapter, its own first."""

ARTICLES = {"the", "a", "my", "her"}


@cache
def attention_maps() -> list[tuple[list[str], Tensor]]:
    """Tokens and weights (layer, head, query, key) of the six sentences."""
    model = models.load()
    return [model.attend(text) for text in TEXTS]


def resting() -> list[int]:
    """How many heads of each layer give [CLS] more than half of their weight."""
    return (measure.on_key(attention_maps()[0][1], 0) > 0.5).sum(dim=1).tolist()


def passing(own: slice) -> int:
    """How many heads are positional, for −1 or +1, when the rule reads the tokens `own`."""
    return sum(int((_hit_rate(offset, own) >= 0.9).sum()) for offset in (-1, 1))


def _hit_rate(offset: int, own: slice) -> Tensor:
    hits = []
    for _, weights in attention_maps():
        top = weights[..., own, own].argmax(dim=-1)
        target = torch.arange(top.shape[-1]) + offset
        hits.append((top == target)[..., (target >= 0) & (target < top.shape[-1])])
    return torch.cat(hits, dim=-1).float().mean(dim=-1)


def _fault_of_slice(answer: Any) -> str:
    """What is wrong with a slice of all tokens and a number of heads; "" if nothing."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        return "Two things are asked for: the slice, and how many heads pass."
    own, n_passing = answer
    if not isinstance(own, slice):
        return f"{shown(own)} is no slice; write slice(…), as in slice(1, -1)."
    kept = range(16)[own]
    if list(kept) != list(range(16)):
        lost = [name for name, place in (("[CLS]", 0), ("[SEP]", 15)) if place not in kept]
        return f"{shown(own)} leaves {' and '.join(lost) or 'tokens'} out."
    if not difference(n_passing, [passing(own)]) or not difference(n_passing, [1, 0]):
        return "How many heads are they together? Give one number."
    if not difference(n_passing, passing(slice(1, -1))):
        return "That many pass without [CLS] and [SEP]. Call hit_rate with your slice."
    if not difference(n_passing, 0):
        return "One head looks at the token before so firmly that [CLS] changes nothing."
    return "" if not difference(n_passing, passing(own)) else f"It is not {shown(n_passing)}."


@cache
def _steps() -> tuple[Tensor, Tensor]:
    """Mean weight on the next token after articles, and after all other words."""
    both = []
    for tokens, weights in attention_maps():
        after = torch.tensor([token in ARTICLES for token in tokens[:-1]])
        step = weights.diagonal(offset=1, dim1=-2, dim2=-1)
        both.append(torch.stack([step[..., after].mean(-1), step[..., ~after].mean(-1)]))
    articles, others = torch.stack(both).mean(dim=0)
    return articles, others


def _fault_of_score(score: Any) -> str:
    """Why the winner of a score is no head of articles; "" if it is."""
    score = torch.as_tensor(score)
    if score.shape != (6, 12):
        return f"One number per (layer, head) has the shape (6, 12), not {tuple(score.shape)}."
    if score.isnan().any():
        return "It has NaN in it; a mean over no token is NaN."
    if score.max() == score.min():
        return "All heads have the same number: nobody wins."
    layer, head = divmod(int(score.float().argmax()), 12)
    articles, others = (float(step[layer, head]) for step in _steps())
    said = (
        f"L{layer}H{head} wins. Its mean weight on the next token is {articles:.2f} after "
        f"articles and {others:.2f} after other words:"
    )
    if (layer, head) == (1, 8):
        return f"{said} it goes there from everywhere. Let the other words count against it."
    if articles < 0.25:
        return f"{said} it hardly goes there at all."
    return "" if articles > 2 * others else f"{said} it goes there from other words too."


EXERCISES: dict[str, Exercise] = {
    "layer_without_rest": Value(
        lambda: resting().index(0),
        because="In every other layer at least two of the twelve heads rest there.",
        wrong={
            1: "Six of its heads do. The first layer has number 0.",
            2: "Eight of its heads do. Look for a layer without dark first columns.",
            3: "Six of its heads do. Look for a layer without dark first columns.",
            4: "There nearly all do, ten of twelve.",
            5: "Two of its heads do. Sort by *first* and see which layers come.",
            "L0": "That is the layer; give its number.",
        },
    ),
    "positional_with_ends": OpenAnswer(
        _fault_of_slice,
        because="Only L0H2. The others put their largest weight on [CLS] too often.",
    ),
    "after_articles": OpenAnswer(
        _fault_of_score,
        because="Your winner goes to the next word after articles, and seldom after others.",
    ),
}
