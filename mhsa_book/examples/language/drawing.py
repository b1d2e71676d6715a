"""Sentences without end, the same for the same seed."""

from random import Random

from mhsa_book.examples.language.grammar import LONGEST, SHORTEST, Clause, Phrase, Sentence
from mhsa_book.examples.language.translation import Pair, translate
from mhsa_book.examples.language.words import (
    ADJECTIVES,
    AMBIGUOUS,
    GREETINGS,
    JOINS,
    NUMBERS,
    PLAIN,
    VERBS,
)
from mhsa_lib import checks


def pairs(n: int, seed: int = 0) -> list[Pair]:
    """``n`` pairs drawn from a seed, independently of each other.

    All choices are even: one clause or two, one phrase or two, an adjective or none, a plain
    noun or an ambiguous one, every word of a kind, every greeting. Sentences are drawn until
    they have 4 to 12 words in both languages, whatever the greeting; so the greeting is
    uniform, and its entropy ``CHOICE``.

    >>> for pair in pairs(3):
    ...     print(pair)
    tekan ot goti sako → hoi nolu nolu denesh krado
    pudan ip meti piro sa bogan ul tino → hoila ren gordu nalesh toso vel shoru shoru shoru
        gepo
    pudan ip feli kero → haila ren hentu hokesh tosa
    """
    checks.positive(n=n)
    random = Random(seed)
    return [draw(random) for _ in range(n)]


def draw(random: Random) -> Pair:
    """The next pair of a random source.

    >>> draw(Random(0))
    tekan ot goti sako → hoi nolu nolu denesh krado
    """
    sentence = _sentence(random)
    while not fits(sentence):
        sentence = _sentence(random)
    return translate(sentence, random.choice([*GREETINGS]))


def fits(sentence: Sentence) -> bool:
    """Whether it has 4 to 12 words in both languages, whatever the greeting.

    >>> fits(Sentence.read("rolan ot balo")), fits(Sentence.read("rolan ot meti balo"))
    (False, True)
    """
    greeting, *others = GREETINGS
    said = len(translate(sentence, greeting).target)
    lengths = [said + len(other) - len(greeting) for other in others]
    return all(SHORTEST <= n <= LONGEST for n in (len(sentence.words), said, *lengths))


def _sentence(random: Random) -> Sentence:
    first = _clause(random)
    if random.random() < 0.5:
        return Sentence((first,))
    return Sentence((first, _clause(random)), random.choice([*JOINS]))


def _clause(random: Random) -> Clause:
    verb, phrases = random.choice([*VERBS]), [_phrase(random)]
    if random.random() < 0.5:
        phrases.append(_phrase(random))
        while phrases[1].noun == phrases[0].noun:
            phrases[1] = _phrase(random)
    return Clause(verb, tuple(phrases))


def _phrase(random: Random) -> Phrase:
    number = random.choice([*NUMBERS])
    adjective = random.choice([*ADJECTIVES]) if random.random() < 0.5 else None
    nouns = PLAIN if random.random() < 0.5 else AMBIGUOUS
    return Phrase(number, adjective, random.choice([*nouns]))
