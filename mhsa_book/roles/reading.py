"""A model reads annotated sentences: what its heads look at, by piece and by word."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from mhsa_book.roles.words import aligned, to_words


@runtime_checkable
class Word(Protocol):
    """A word and what is known of it; ``head`` and ``antecedent`` are places, from 0."""

    @property
    def form(self) -> str:
        """As it is written."""

    @property
    def upos(self) -> str:
        """Its part of speech, as Universal Dependencies call it: NOUN, PRON, …"""

    @property
    def head(self) -> int | None:
        """The word that it depends on; None for the root."""

    @property
    def relation(self) -> str:
        """What it is to its head: det, nsubj, …"""

    @property
    def antecedent(self) -> int | None:
        """For a pronoun, the word that it stands for, if that is in the sentence."""


@runtime_checkable
class Sentence(Protocol):
    """A text and its words, in the order of the text."""

    @property
    def text(self) -> str:
        """What a model reads."""

    @property
    def words(self) -> Sequence[Any]:
        """Every ``Word``, marks of punctuation too."""


@dataclass(frozen=True)
class Reading:
    """One sentence, as one model attended to it.

    Parameters
    ----------
    tokens : word pieces, ``[CLS]`` first and ``[SEP]`` last
    weights : of every head, (layer, head, query, key), over those
    belongs : which piece belongs to which word, (word, piece)
    """

    tokens: list[str]
    weights: Tensor
    belongs: Tensor

    @cached_property
    def by_word(self) -> Tensor:
        """Attention of words to words, (layer, head, word, word); rows sum to less than 1."""
        return to_words(self.weights, self.belongs)


def read(model: Any, sentences: Iterable[Sentence]) -> list[Reading]:
    """Let a model with ``attend`` (``models.load()``) read every sentence.

    Raises ``ValueError`` for a sentence whose words are not those of its text.
    """
    readings = []
    for sentence in sentences:
        tokens, weights = model.attend(sentence.text)
        belongs = aligned([word.form for word in sentence.words], tokens)
        readings.append(Reading(tokens, weights, belongs))
    return readings
