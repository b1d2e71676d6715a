"""Exercises of chapter 06, masks."""

from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import Any

import torch
from torch import Tensor

from mhsa_book.exercises import bugs, reference, wrong_ways
from mhsa_book.exercises import drawn_inputs as inputs
from mhsa_book.exercises.kinds import Exercise, OpenAnswer
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_lib import masks

PACKED = ((2, 1), (4, 3), (1, 3, 2), (5,))
"""Lengths of documents that share a row."""


def packed_documents(answer: Any) -> str | EllipsisType:
    """What is wrong with a function that packs documents so that each is read as if alone.

    Given the lengths of the documents it returns the mask (query, key), True for may attend,
    and the position of every token.

    >>> packed_documents(lambda lengths: (masks.causal.dense(3, 3), [0, 1, 2]))
    'Lengths [2, 1]: query 2 may attend to key 0, which is in the other document.'
    """
    if not callable(answer):
        return "Define packed(lengths) and hand it over."
    for lengths in PACKED:
        packed = answer([*lengths])
        if packed is ... or packed is None:
            return ...
        if fault := _fault_of_packing(lengths, packed):
            return f"Lengths {[*lengths]}: {fault}"
    return ""


def _fault_of_packing(lengths: Sequence[int], packed: Any) -> str:
    if not isinstance(packed, tuple) or len(packed) != 2:
        return "return two things, the mask and the positions."
    mask, positions = packed
    document = [i for i, length in enumerate(lengths) for _ in range(length)]
    size = len(document)
    if isinstance(mask, masks.Predicate):
        mask = mask.dense(size, size)
    allowed = torch.as_tensor(mask)
    if allowed.dtype is not torch.bool or allowed.shape[-2:] != (size, size):
        return f"the mask has {size} × {size} booleans, True for may attend."
    allowed = allowed.reshape(size, size)
    for query, key in torch.cartesian_prod(torch.arange(size), torch.arange(size)).tolist():
        apart, ahead = document[query] != document[key], key > query
        may = "may" if allowed[query, key] else "may not"
        pair = f"query {query} {may} attend to key {key}"
        if allowed[query, key] and apart:
            return f"{pair}, which is in the other document."
        if allowed[query, key] and ahead:
            return f"{pair}, which comes later."
        if not allowed[query, key] and not apart and not ahead:
            return f"{pair}, though it could if its document were alone."
    return _fault_of_positions(document, torch.as_tensor(positions).tolist())


def _fault_of_positions(document: Sequence[int], positions: Any) -> str:
    if not isinstance(positions, list) or len(positions) != len(document):
        return f"the mask is right. Give {len(document)} positions with it, one for each token."
    for token, (own, found) in enumerate(zip(document, positions, strict=True)):
        alone = token - document.index(own)
        if found != alone:
            return (
                f"the mask is right. But token {token} is told that its position is {found}; "
                f"if its document were alone, it would be {alone}."
            )
    return ""


WINDOWS = ((5, 2), (7, 3), (4, 1), (3, 9))
"""Numbers of words, and windows."""

_FIRST_WORD = masks.custom(lambda query, key: key == 0)


def _fault_of_window(answer: Any) -> str | EllipsisType:
    """What is wrong with a rule for a window that always keeps the first word as well."""
    if not callable(answer):
        return "Define window_and_first(query, key, window) and hand it over."
    for n, window in WINDOWS:
        query, key = torch.arange(n)[:, None], torch.arange(n)
        found = answer(query, key, window)
        if found is ... or found is None:
            return ...
        allowed = torch.as_tensor(found)
        here = f"{n} words, window {window}:"
        if allowed.dtype is not torch.bool or allowed.shape != (n, n):
            return f"{here} the rule should give {n} × {n} booleans, True for may attend."
        right = (masks.sliding_window(window) | _FIRST_WORD & masks.causal).dense(n, n)
        for q, k in (allowed != right.reshape(n, n)).nonzero().tolist():
            pair = f"query {q} {'may' if allowed[q, k] else 'may not'} attend to key {k}"
            return f"{here} {pair}, {_about_window(q, k, window)}."
    return ""


def _about_window(query: int, key: int, window: int) -> str:
    if key > query:
        return "which comes later"
    if key == 0:
        return "the first word, which everybody may attend to"
    inside = query - key < window
    return f"which is {'inside' if inside else 'outside'} the window"


SAID_OF_MAPS = {
    "A": ("times 0", "Look above the diagonal: do forbidden keys have weight, and what sum?"),
    "B": ("inverted", "Where does it have weight: above the diagonal, or below?"),
    "C": ("right", "Is anything above the diagonal? And do its rows sum to 1?"),
    "D": ("too late", "Add up the rows of *the* and *animal*."),
}
"""What made the four maps of the chapter, and what to look at."""


def _misread(answer: Any) -> str | EllipsisType:
    """What is wrong with names for the mistakes behind the four maps."""
    if not isinstance(answer, Mapping) or {*answer} != {*SAID_OF_MAPS}:
        return "Give a dict with the keys A, B, C and D."
    if any(made_by is ... for made_by in answer.values()):
        return ...
    for name, (made_by, look) in SAID_OF_MAPS.items():
        if answer[name] != made_by:
            return f"{name} is not {answer[name]!r}. {look}"
    return ""


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
    "which_mask_mistake": OpenAnswer(
        _misread, "A sum and a look above the diagonal tell all four apart."
    ),
    "window_and_first": OpenAnswer(
        _fault_of_window, "Equal for four numbers of words and windows."
    ),
    "packed_documents": OpenAnswer(
        packed_documents, "No token sees another document, and each document begins at 0."
    ),
}
