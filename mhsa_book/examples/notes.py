"""Sentences in which every word carries a note, and the last word must say whose note it needs.

The sentences are those of the running example, seven words of one small grammar: "a child left
this field so very hungry" has its parts in that order, a noun that lives and a noun that is a
place in either order. Every word carries a note of four random numbers, new in each sentence.
The last word is a quality, and its task is to say the note of the noun that the quality fits.
Nobody says which noun that is, or which words live: a model has only the right notes to go by.

Two pairs of words, one of them "animal" with "tired", are never together in a sentence that is
drawn for training, so what a model does with them it has learned from other sentences.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mhsa_book.examples.words import VOCABULARY

WORDS = tuple(VOCABULARY)
"""A word's place in this tuple is its id."""

N_NOTE = 4
"""Numbers in a note."""

ORDER = ["article", "noun", "verb", "article", "noun", "degree", "quality"]
"""The kinds of the seven words of a sentence."""

UNSEEN = (("animal", "tired"), ("street", "wide"))
"""A noun and the quality with which it never occurs in training."""


class Sentences(NamedTuple):
    """Sentences as numbers.

    Parameters
    ----------
    ids : (sentence, 7), the words
    notes : (sentence, 7, 4), what each word carries
    meant : (sentence,), the position of the noun that the last word fits, 1 or 4
    wanted : (sentence, 4), the note of that noun
    """

    ids: Tensor
    notes: Tensor
    meant: Tensor
    wanted: Tensor


def ids_of(sentence: str) -> Tensor:
    """The ids of the words of a sentence.

    Raises ``ValueError`` for a word that is not in ``VOCABULARY``.

    >>> ids_of("the animal").tolist()
    [0, 3]
    """
    unknown = [word for word in sentence.split() if word not in WORDS]
    if unknown:
        raise ValueError(
            f"No id for {', '.join(map(repr, unknown))}; choose words from {WORDS}."
        )
    return torch.tensor([WORDS.index(word) for word in sentence.split()])


def of(
    sentences: Sequence[Sequence[str]], generator: torch.Generator | None = None
) -> Sentences:
    """Give notes to sentences of the grammar; unseen pairs are allowed.

    Raises ``ValueError`` for a sentence whose words are not those of the grammar in its order.

    >>> of(["the animal avoided the street too wide".split()]).meant.tolist()
    [4]
    """
    for words in sentences:
        kinds = [VOCABULARY.get(word, ["?"])[0] for word in words]
        if kinds != ORDER or VOCABULARY[words[1]] == VOCABULARY[words[4]]:
            raise ValueError(
                f"{' '.join(words)!r} is no sentence of the grammar; its words are, in order, "
                f"{', '.join(ORDER)}, one noun living and the other a place."
            )
    return _with_notes(torch.stack([ids_of(" ".join(words)) for words in sentences]), generator)


def draw(
    n: int, generator: torch.Generator | None = None, *, unseen: bool = False
) -> Sentences:
    """Draw n sentences with their notes; all with, or all without, an unseen pair of words.

    >>> drawn = draw(3, torch.Generator().manual_seed(0))
    >>> drawn.ids.shape, drawn.notes.shape
    (torch.Size([3, 7]), torch.Size([3, 7, 4]))
    """
    found: list[Tensor] = []
    while sum(map(len, found)) < n:
        ids = _ids(2 * n + 8, generator)
        found.append(ids[_has_unseen_pair(ids) == unseen])
    return _with_notes(torch.cat(found)[:n], generator)


def _with_notes(ids: Tensor, generator: torch.Generator | None) -> Sentences:
    n = len(ids)
    notes = torch.randn(n, ids.shape[1], N_NOTE, generator=generator)
    living_first = torch.isin(ids[:, 1], _all("noun living"))
    about_living = torch.isin(ids[:, 6], _all("quality living"))
    meant = torch.where(living_first == about_living, 1, 4)
    return Sentences(ids, notes, meant, notes[torch.arange(n), meant])


def _ids(n: int, generator: torch.Generator | None) -> Tensor:
    """Sentences of the grammar, unseen pairs among them."""

    def one_of(*kinds: str) -> Tensor:
        words = torch.cat([_all(kind) for kind in kinds])
        return words[torch.randint(len(words), (n,), generator=generator)]

    living, place = one_of("noun living"), one_of("noun place")
    swap = torch.rand(n, generator=generator) < 0.5
    first, second = torch.where(swap, place, living), torch.where(swap, living, place)
    return torch.stack(
        [
            *(one_of("article"), first, one_of("verb"), one_of("article"), second),
            *(one_of("degree"), one_of("quality living", "quality place")),
        ],
        dim=1,
    )


def _has_unseen_pair(ids: Tensor) -> Tensor:
    pairs = [
        (ids[:, [1, 4]] == WORDS.index(noun)).any(dim=1) & (ids[:, 6] == WORDS.index(quality))
        for noun, quality in UNSEEN
    ]
    return torch.stack(pairs).any(dim=0)


def _all(kind: str) -> Tensor:
    """The ids of all words of a kind."""
    return torch.tensor([i for i, word in enumerate(WORDS) if VOCABULARY[word] == kind.split()])
