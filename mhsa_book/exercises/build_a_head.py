"""The exercise in which a reader writes the three matrices of a head."""

from typing import Any

import torch
from torch import Tensor

from mhsa_book import examples
from mhsa_book.exercises.kinds import Exercise, OpenAnswer
from mhsa_lib import functional

SENTENCES = (
    "the animal avoided the street",
    "the tired animal avoided the wide street",
    "a very hungry dog left the road",
    "this river crossed a very muddy field",
)
"""The first is the easiest: each noun follows its article. Then words come between them."""

ENOUGH = 0.9
"""The weight that an article has to give its noun."""

N_COLUMNS = len(examples.SEATED_COLUMNS)


def map_of(W_Q: Tensor, W_K: Tensor, sentence: str) -> Tensor:
    """The weights of the head in a sentence, (query, key)."""
    x = examples.seated(sentence).to(W_Q.dtype)
    q, k = (x @ W_Q)[None], (x @ W_K)[None]
    return functional.softmax(functional.score(q, k, W_Q.shape[1] ** -0.5))[0]


def noun_of(words: list[str], article: int) -> int:
    """The first noun behind an article.

    >>> noun_of("a very hungry dog left the road".split(), 0)
    3
    """
    nouns = [i for i, word in enumerate(words) if "noun" in examples.VOCABULARY[word]]
    return min(i for i in nouns if i > article)


def fault_of_head(answer: Any) -> str:
    """Say on which article of which sentence a head fails, and in which way."""
    maps = [torch.as_tensor(W, dtype=torch.float64).detach() for W in answer]
    if fault := fault_of_shapes(maps, N_COLUMNS):
        return fault
    W_Q, W_K, W_V = maps
    for sentence in SENTENCES:
        words, weights = sentence.split(), map_of(W_Q, W_K, sentence)
        for i, word in enumerate(words):
            if "article" not in examples.VOCABULARY[word]:
                continue
            if fault := _fault_of_row(words, i, weights[i]):
                return f"In “{sentence}”, {word!r} (word {i}) {fault}"
            z, wanted = weights[i] @ examples.seated(sentence).double() @ W_V, _says(words, i)
            if (z - wanted).abs().max() > 0.2:
                return (
                    f"In “{sentence}”, {word!r} (word {i}) finds its noun, but z is "
                    f"{_row(z)} and should be near {_row(wanted)}: look at W_V, which decides "
                    f"what a word hands over."
                )
    return ""


def fault_of_shapes(maps: list[Tensor], n_columns: int) -> str:
    """Say why these are not the three matrices of a head that reads rows of n_columns."""
    if len(maps) != 3:
        return f"Hand over three matrices, (W_Q, W_K, W_V); these are {len(maps)}."
    for name, W in zip(("W_Q", "W_K", "W_V"), maps, strict=True):
        if W.ndim == 2 and W.shape[0] != n_columns and W.shape[1] == n_columns:
            return (
                f"{name} is {tuple(W.shape)}. A word is a row and meets its matrix as "
                f"x @ {name}, so there is a row for each of the {n_columns} columns of x: "
                f"turn it round with .T."
            )
        if W.ndim != 2 or W.shape[0] != n_columns:
            return f"{name} is {tuple(W.shape)}; it should have {n_columns} rows."
        if not W.isfinite().all():
            return f"{name} has entries that are not finite; a large number does as well."
    W_Q, W_K, W_V = maps
    if W_Q.shape != W_K.shape:
        return (
            f"W_Q makes queries of {W_Q.shape[1]} numbers and W_K keys of {W_K.shape[1]}: a "
            f"dot product needs as many in both."
        )
    if W_V.shape[1] != 2:
        return f"W_V has {W_V.shape[1]} columns; z should be two numbers, living and place."
    return ""


def _fault_of_row(words: list[str], i: int, weights: Tensor) -> str:
    """Which mistake a row of weights shows; "" if the article finds its noun."""
    noun, most = noun_of(words, i), int(weights.argmax())
    if weights[noun] >= ENOUGH:
        return ""
    others = [j for j, word in enumerate(words) if "noun" in examples.VOCABULARY[word]]
    if all(weights[j] > 0.3 for j in others):
        return (
            "gives both nouns much weight. They are both nouns: what tells them apart is where "
            "they stand."
        )
    if fault := fault_of_weights(words, i, noun, weights):
        return fault
    found = f"{words[most]!r} (word {most})"
    if most in others:
        return f"finds {found}, which is the noun of another article."
    if most == i + 1:
        return (
            f"finds the next word, {found}, which is no noun: the query has to ask for a noun "
            f"as well, and more loudly."
        )
    return f"finds {found}, which is no noun."


def fault_of_weights(words: list[str], i: int, wanted: int, weights: Tensor) -> str:
    """Say what any head can do wrong that should find a certain word; "" if it is none of that.

    >>> fault_of_weights("the dog".split(), 0, 1, torch.tensor([0.2, 0.8]))
    "finds 'dog' (word 1), but with weight 0.80; 0.9 is asked for. The scores are too near ..."
    """
    most = int(weights.argmax())
    if weights.max() - weights.min() < 0.01:
        return "gives all words the same weight: its query matches no key better than another."
    if most == i:
        return "finds itself."
    if most == wanted:
        return (
            f"finds {words[most]!r} (word {most}), but with weight {weights[most]:.2f}; "
            f"{ENOUGH} is asked for. The scores are too near to each other."
        )
    return ""


def _says(words: list[str], article: int) -> Tensor:
    """What z of an article should be: whether its noun is living, whether it is a place."""
    kinds = examples.VOCABULARY[words[noun_of(words, article)]]
    return torch.tensor([float(kind in kinds) for kind in ("living", "place")]).double()


def _row(numbers: Tensor) -> str:
    return f"({', '.join(f'{number:.2f}' for number in numbers)})"


EXERCISES: dict[str, Exercise] = {
    "article_finds_noun": OpenAnswer(
        fault_of_head,
        because=f"Every article of {len(SENTENCES)} sentences finds its noun, and z says what "
        f"the noun is.",
    ),
}
