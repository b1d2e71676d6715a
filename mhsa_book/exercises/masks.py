"""Exercises of chapter 06, masks."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from mhsa_book.exercises import bugs, reference, wrong_ways
from mhsa_book.exercises import drawn_inputs as inputs
from mhsa_book.exercises.kinds import Exercise, OpenAnswer
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_lib import masks

DOCUMENT = (0, 0, 0, 0, 1, 1, 1)
"""Two documents in one row of seven: of four words, and of three."""


def packed_documents(answer: Any) -> str:
    """What is wrong with a mask under which two packed documents are each read as if alone.

    The mask is a predicate, booleans (query, key), or a drawing: seven rows of text.

    >>> packed_documents(masks.causal)
    'Query 4 may look at key 0, which stands in the other document.'
    """
    size = len(DOCUMENT)
    allowed = _drawn(answer)
    if allowed.shape != (size, size) or allowed.dtype is not torch.bool:
        return f"A mask for them is {size} × {size} squares, True or ■ for may look."
    for query, key in torch.cartesian_prod(torch.arange(size), torch.arange(size)).tolist():
        apart, ahead = DOCUMENT[query] != DOCUMENT[key], key > query
        pair = f"Query {query} {'may' if allowed[query, key] else 'may not'} look at key {key}"
        if allowed[query, key] and apart:
            return f"{pair}, which stands in the other document."
        if allowed[query, key] and ahead:
            return f"{pair}, which comes later."
        if not allowed[query, key] and not apart and not ahead:
            return f"{pair}, though it would if its document were alone."
    return ""


def _drawn(answer: Any) -> Tensor:
    if isinstance(answer, masks.Predicate):
        answer = answer.dense(len(DOCUMENT), len(DOCUMENT))
    if isinstance(answer, Tensor):
        return answer.reshape(answer.shape[-2:])
    rows = [list(row) for row in (answer.split() if isinstance(answer, str) else answer)]
    if not {square for row in rows for square in row} <= {"■", "·", True, False}:
        raise ValueError("a drawing is made of ■ and ·")
    return torch.tensor([[square in ("■", True) for square in row] for row in rows])


def _wrong_pair(given: Mapping[str, Any], expected: Tensor, found: Any) -> str:
    """Say the first query and key for which a triangle is wrong."""
    if not _is_mask(found, expected):
        return ""
    query, key = (found != expected).nonzero()[0].tolist()
    position = query + given["n_key"] - given["n_query"]
    here = f"Query {query} stands at position {position}. It"
    if not found[query, key]:
        who = "itself" if key == position else f"key {key}, which came before"
        return f"{here} should see {who}."
    return f"{here} must not see key {key}, which comes later."


def _wrong_key(given: Mapping[str, Any], expected: Tensor, found: Any) -> str:
    """Say the first key of which it is not right whether it is a word."""
    if not _is_mask(found, expected):
        return ""
    sentence, *_, key = (found != expected).nonzero()[0].tolist()
    length = given["lengths"][sentence]
    kind = (
        "padding, and should be False"
        if found[sentence, 0, 0, key]
        else "a word, and should be True"
    )
    return f"Sentence {sentence} has the length {length}: its key {key} is {kind}."


def _is_mask(found: Any, expected: Tensor) -> bool:
    is_mask = isinstance(found, Tensor) and found.dtype == torch.bool
    return is_mask and found.shape == expected.shape


EXERCISES: dict[str, Exercise] = {
    "causal_mask": FunctionWithKnownMistakes(
        reference.causal_mask,
        inputs.sizes,
        mistakes=wrong_ways.TRIANGLES,
        exhibits=bugs.causals(),
        axes="query key",
        described=_wrong_pair,
    ),
    "padding_mask": FunctionWithKnownMistakes(
        reference.padding_mask,
        inputs.lengths,
        exhibits=bugs.paddings(),
        axes="batch 1 1 key",
        described=_wrong_key,
    ),
    "packed_documents": OpenAnswer(
        packed_documents,
        "No word sees the other document.\nPositions have to restart as well before each is "
        "read as if it were alone:\nhere they are part of x.",
    ),
}
