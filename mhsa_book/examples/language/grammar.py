"""The source language: what a sentence is, how it is said, and how it is read.

::

    sentence = clause, or clause join clause
    clause   = verb phrase, or verb phrase phrase
    phrase   = number noun, or number adjective noun

The verb comes first, and between a verb and a noun there is always a number. No noun comes
twice in a clause.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from mhsa_book.examples.language.words import ADJECTIVES, JOINS, NOUNS, NUMBERS, SOURCE, VERBS

SHORTEST, LONGEST = 4, 12
"""Words of a sentence, in either language; the end of the sentence is not counted."""


@dataclass(frozen=True)
class Phrase:
    """How many of what; ``adjective`` is None where there is none."""

    number: str
    adjective: str | None
    noun: str

    @property
    def words(self) -> tuple[str, ...]:
        """As the source language says it."""
        return tuple(w for w in (self.number, self.adjective, self.noun) if w is not None)


@dataclass(frozen=True)
class Clause:
    """What happens, and to whom."""

    verb: str
    phrases: tuple[Phrase, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """As the source language says it."""
        return (self.verb, *(word for phrase in self.phrases for word in phrase.words))


@dataclass(frozen=True)
class Sentence:
    """One clause, or two and the word between them; a clause has one phrase or two.

    >>> Sentence.read("rolan ot meti balo").clauses[0].phrases
    (Phrase(number='ot', adjective='meti', noun='balo'),)
    """

    clauses: tuple[Clause, ...]
    join: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """As the source language says it."""
        first, *rest = (clause.words for clause in self.clauses)
        return first if self.join is None else (*first, self.join, *rest[0])

    @classmethod
    def read(cls, text: str) -> "Sentence":
        """The sentence of these words; ``ValueError`` if they are none.

        >>> Sentence.read("rolan meti balo")
        Traceback (most recent call last):
        ...
        ValueError: 'rolan meti balo': 'meti' is no number (ip, ot, ul).
        """
        words = text.split()
        if unknown := [word for word in words if word not in SOURCE]:
            raise ValueError(f"{text!r}: {unknown[0]!r} is no word; choose from {SOURCE}.")
        parts = [list(run) for joins, run in groupby(words, JOINS.__contains__) if not joins]
        joins = [word for word in words if word in JOINS]
        if len(joins) > 1 or len(parts) != 1 + len(joins):
            raise ValueError(
                f"{text!r} joins {joins or 'nothing'}; a sentence is one clause, or two with "
                f"{' or '.join(JOINS)} between them."
            )
        return cls(tuple(_clause(part, text) for part in parts), *joins)


def _clause(words: list[str], text: str) -> Clause:
    left = iter(words)
    verb = _next(left, VERBS, "verb", text)
    phrases = [_phrase(left, text)]
    rest = [*left]
    if rest:
        left = iter(rest)
        phrases.append(_phrase(left, text))
    if more := next(left, None):
        raise ValueError(f"{text!r}: {more!r} is too much; a clause has one phrase or two.")
    nouns = {phrase.noun for phrase in phrases}
    if len(nouns) < len(phrases):
        raise ValueError(
            f"{text!r}: {nouns.pop()!r} comes twice in a clause; take another noun."
        )
    return Clause(verb, tuple(phrases))


def _phrase(left: Iterator[str], text: str) -> Phrase:
    number = _next(left, NUMBERS, "number", text)
    word = _next(left, ADJECTIVES | NOUNS, "adjective or noun", text)
    if word in NOUNS:
        return Phrase(number, None, word)
    return Phrase(number, word, _next(left, NOUNS, "noun", text))


def _next(left: Iterator[str], kind: dict, name: str, text: str) -> str:
    word = next(left, None)
    if word is None:
        raise ValueError(f"{text!r} ends before its {name} ({', '.join(kind)}).")
    if word not in kind:
        raise ValueError(f"{text!r}: {word!r} is no {name} ({', '.join(kind)}).")
    return word
