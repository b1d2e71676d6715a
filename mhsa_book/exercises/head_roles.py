"""Exercises of chapter 12, what heads learn."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from mhsa_book.examples import annotated
from mhsa_book.exercises.kinds import Exercise, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes


def offsets(relation: str) -> Tensor:
    """How many words on its head stands, for every word of this relation."""
    words = [each.words for each in annotated.sentences()]
    found = [
        word.head - i
        for sentence in words
        for i, word in enumerate(sentence)
        if word.relation == relation and word.head is not None
    ]
    return torch.tensor(found)


def usual() -> tuple[int, int]:
    """The most frequent distance from an object and from a preposition to its head."""
    return int(offsets("obj").mode().values), int(offsets("case").mode().values)


def passive_subjects() -> float:
    """Share of the words with ``nsubj:pass`` whose head is the next verb."""
    right = []
    for sentence in annotated.sentences():
        for i, word in enumerate(sentence.words):
            if word.relation == "nsubj:pass":
                later = range(i + 1, len(sentence.words))
                verbs = (k for k in later if sentence.words[k].upos == "VERB")
                right.append(next(verbs, None) == word.head)
    return sum(right) / len(right)


def held_out(hits: Tensor, sentence: Tensor) -> float:
    """Choose the best head on even sentences, and report it on the odd ones."""
    even = sentence % 2 == 0
    best = hits[even].double().mean(dim=0).argmax()
    return hits[~even, best].double().mean().item()


def tables() -> Iterator[dict[str, Any]]:
    """Hits (arc, head) and the number of each arc's sentence, the smallest first."""
    yield {
        "hits": torch.tensor([[1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]),
        "sentence": torch.tensor([0, 2, 1, 1, 3]),
    }
    generator = torch.Generator().manual_seed(0)
    for arcs, heads in ((9, 3), (40, 72)):
        yield {
            "hits": torch.rand(arcs, heads, generator=generator).round().long(),
            "sentence": torch.arange(arcs) // 2,
        }


def _mean(hits: Tensor) -> Tensor:
    return hits.double().mean(dim=0)


NOT_HELD_OUT = {
    lambda hits, sentence: _mean(hits).max().item(): (
        "The head is chosen and reported on the same sentences, all of them."
    ),
    lambda hits, sentence: _mean(hits[sentence % 2 == 0]).max().item(): (
        "That is the share on the even sentences, on which the head was chosen."
    ),
    lambda hits, sentence: _mean(hits[sentence % 2 == 1]).max().item(): (
        "That is the best head of the odd sentences: it was chosen where it is reported."
    ),
    lambda hits, sentence: held_out(hits, sentence + 1): "Choose on even, report on odd.",
    lambda hits, sentence: _mean(hits)[_mean(hits[sentence % 2 == 0]).argmax()].item(): (
        "The sentences on which the head was chosen are among those that are reported."
    ),
}


EXERCISES: dict[str, Exercise] = {
    "usual_offsets": Value(
        usual,
        because="An object stands behind its verb, a preposition before its noun.",
        wrong={(2, -2): "Those go from the head to the dependent; the arcs go the other way."},
    ),
    "passive_subjects": Value(
        passive_subjects,
        because="Ten of thirteen; the others have a relative clause, with a verb of its own, "
        "between.",
    ),
    "held_out": FunctionWithKnownMistakes(
        held_out,
        tables,
        because="The winner of one half is a candidate like any on the other.",
        mistakes=NOT_HELD_OUT,
    ),
}
