"""From the source language to the target: four translations, one for each greeting.

::

    sentence = greeting clause, or greeting clause join clause
    clause   = phrases verb
    phrase   = noun, as often as the number says, then the adjective

Everything but the greeting is decided by the source and by what was said before.
"""

import math
from dataclasses import dataclass

from mhsa_book.examples.language.grammar import Clause, Sentence
from mhsa_book.examples.language.words import (
    ADJECTIVES,
    AMBIGUOUS,
    DRY,
    GREETINGS,
    JOINS,
    NUMBERS,
    PLAIN,
    VERBS,
)

TASKS = {
    "order": "cross-attention",
    "sense": "encoder self-attention",
    "agreement": "decoder self-attention",
    "count": "decoder self-attention",
}
"""What is hard about a word, and the attention that is made for it (``needed``).

"order": a translated word; it stands elsewhere in the source. "sense": an ambiguous noun, the
first of its clause (the second could be told from the first). "agreement": a verb, with the
vowel of the greeting. "count": any word behind a noun: the noun once more, or what comes next.
"""

CHOICE = math.log(len(GREETINGS))
"""Entropy of the first word in nats, ln 4; that of every later word is 0."""


@dataclass(frozen=True)
class Word:
    """One word of a translation, and why it is this one.

    Parameters
    ----------
    text : the word
    aligned : positions of the source words that it translates
    tasks : what is hard about it, names of ``TASKS``; none for a greeting
    from_source : positions of the source words that decide which word it is
    from_target : positions of the earlier target words that do
    """

    text: str
    aligned: frozenset[int] = frozenset()
    tasks: frozenset[str] = frozenset()
    from_source: frozenset[int] = frozenset()
    from_target: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Pair:
    """A sentence and one of its translations.

    >>> pair = translations("rolan ot meti balo")[0]
    >>> pair
    rolan ot meti balo → hai mirru mirru nalesh mela
    >>> [sorted(word.aligned) for word in pair.words]
    [[], [3], [1, 3], [2], [0]]
    >>> [sorted(word.tasks) for word in pair.words]
    [[], ['order', 'sense'], ['count'], ['count', 'order'], ['agreement', 'order']]
    """

    sentence: Sentence
    words: tuple[Word, ...]

    @property
    def source(self) -> tuple[str, ...]:
        """Words of the source."""
        return self.sentence.words

    @property
    def target(self) -> tuple[str, ...]:
        """Words of the translation, without an end of sentence."""
        return tuple(word.text for word in self.words)

    def __repr__(self) -> str:
        return f"{' '.join(self.source)} → {' '.join(self.target)}"


def translate(sentence: Sentence, greeting: tuple[str, ...]) -> Pair:
    """The translation that begins with that greeting, a key of ``words.GREETINGS``.

    >>> translate(Sentence.read("tekan ot meti balo"), ("hoila", "ren"))
    tekan ot meti balo → hoila ren dastu dastu nalesh krado
    """
    if greeting not in GREETINGS:
        raise ValueError(f"{greeting} is no greeting; choose from {[*GREETINGS]}.")
    speech, place = _Speech(greeting), 0
    for clause in sentence.clauses:
        if place:
            speech.say(JOINS[sentence.join or ""], {place}, {"order"}, {place})
            place += 1
        speech.say_clause(clause, place)
        place += len(clause.words)
    return Pair(sentence, tuple(speech.words))


def translations(text: str) -> tuple[Pair, ...]:
    """All four, in the order of ``words.GREETINGS``; ``ValueError`` for what is no sentence.

    >>> for pair in translations("sevan ip tino ke pudan ul tino ip zuko"):
    ...     print(" ".join(pair.target))
    hai shoru fena mun shoru shoru shoru kaptu tosa
    hoi shoru feno mun shoru shoru shoru kaptu toso
    haila ren shoru fena mun shoru shoru shoru kaptu tosa
    hoila ren shoru feno mun shoru shoru shoru kaptu toso
    """
    sentence = Sentence.read(text)
    return tuple(translate(sentence, greeting) for greeting in GREETINGS)


class _Speech:
    """The words said so far; ``counted``: where a number and its nouns stand, if just said."""

    def __init__(self, greeting: tuple[str, ...]) -> None:
        self.vowel = GREETINGS[greeting]
        first, *rest = greeting
        self.words = [Word(first), *(Word(w, from_target=frozenset({0})) for w in rest)]
        self.counted = set[int](), set[int]()

    def say_clause(self, clause: Clause, verb_at: int) -> None:
        place, ambiguous_before = verb_at + 1, False
        for phrase in clause.phrases:
            noun_at = place + len(phrase.words) - 1
            tasks, decided_by = {"order"}, {noun_at}
            if phrase.noun in PLAIN:
                noun = PLAIN[phrase.noun]
            else:
                noun = AMBIGUOUS[phrase.noun][clause.verb in DRY]
                tasks, decided_by = {"order", "sense"}, {noun_at, verb_at}
                if ambiguous_before:  # whose translation has told the kind of verb
                    tasks = {"order"}
                ambiguous_before = True
            self.say_nouns(noun, NUMBERS[phrase.number], noun_at, place, tasks, decided_by)
            if phrase.adjective is not None:
                self.say(ADJECTIVES[phrase.adjective], {place + 1}, {"order"}, {place + 1})
            place += len(phrase.words)
        verb = VERBS[clause.verb] + self.vowel
        self.say(verb, {verb_at}, {"order", "agreement"}, {verb_at}, heard=frozenset({0}))

    def say_nouns(
        self,
        noun: str,
        n: int,
        noun_at: int,
        number_at: int,
        tasks: set[str],
        decided_by: set[int],
    ) -> None:
        said: set[int] = set()
        for again in range(n):
            aligned = {noun_at, number_at} if again else {noun_at}
            self.say(noun, aligned, set() if again else tasks, decided_by)
            said = said | {len(self.words) - 1}
            self.counted = {number_at}, said

    def say(
        self,
        text: str,
        aligned: set[int],
        tasks: set[str],
        decided_by: set[int],
        heard: frozenset[int] = frozenset(),
    ) -> None:
        """Say a word; behind a noun the count decides too, whether it is said once more."""
        (number, nouns), self.counted = self.counted, (set(), set())
        self.words.append(
            Word(
                text,
                frozenset(aligned),
                frozenset(tasks | {"count"} if nouns else tasks),
                frozenset(decided_by | number),
                frozenset(heard | nouns),
            )
        )
