"""The rules of the two languages as the page has them: the twin of ``rules.js``."""

import re
from typing import Any

from mhsa_book.examples.language import Pair, Sentence, translate
from mhsa_book.examples.language.grammar import LONGEST, SHORTEST
from mhsa_book.examples.language.words import (
    ADJECTIVES,
    AMBIGUOUS,
    DRY,
    GREETINGS,
    JOINS,
    NUMBERS,
    PLAIN,
    WET,
)

LISTED = 3
"""Words of a kind that are listed, where there are more than twice as many."""

BEGINNINGS = {" ".join(greeting): greeting for greeting in GREETINGS}
"""Greetings as they are written, and as the language has them."""


def tables() -> dict[str, Any]:
    """All words, and what they mean to each other, as JSON.

    >>> tables()["plain"]["mabo"], tables()["greetings"]["hoila ren"]
    ('kelu', 'o')
    """
    return {
        "plain": PLAIN,
        "ambiguous": {noun: list(both) for noun, both in AMBIGUOUS.items()},
        "wet": WET,
        "dry": DRY,
        "adjectives": ADJECTIVES,
        "numbers": NUMBERS,
        "joins": JOINS,
        "greetings": {text: GREETINGS[greeting] for text, greeting in BEGINNINGS.items()},
        "lengths": [SHORTEST, LONGEST],
    }


def problem(text: str) -> str | None:
    """Why the model cannot translate a text, as the page says it; None if it can.

    >>> problem("rolan meti balo")
    '“meti” is no number (ip, ot, ul).'
    >>> problem("rolan ot balo")
    'The sentence has 3 words; the model has learned sentences of 4 to 12.'
    """
    try:
        sentence = Sentence.read(text)
    except ValueError as error:
        return _as_the_page_says(str(error), text)
    learned = f"the model has learned sentences of {SHORTEST} to {LONGEST}."
    n = len(sentence.words)
    if not SHORTEST <= n <= LONGEST:
        return f"The sentence has {n} words; {learned}"
    longest = max(len(translate(sentence, greeting).words) for greeting in GREETINGS)
    if longest > LONGEST:
        return f"A translation has {longest} words; {learned}"
    return None


def right(text: str, greeting: str = "", first: str = "") -> Pair:
    """The translation by the rules: with a greeting, or else with the one that a word begins.

    Where the word begins none, it is the first greeting of the language.

    >>> right("rolan ot meti balo", first="hoila").target
    ('hoila', 'ren', 'mirru', 'mirru', 'nalesh', 'melo')
    """
    chosen = BEGINNINGS[greeting] if greeting else None
    begun = (each for each in GREETINGS if each[0] == first)
    return translate(Sentence.read(text), chosen or next(begun, next(iter(GREETINGS))))


def _as_the_page_says(message: str, text: str) -> str:
    """A refusal of the language without the text, which stands in its field."""
    said = message.removeprefix(f"{text!r}").removeprefix(":").strip()
    said = re.sub(r"(is no word); choose .*", r"\1.", said)
    said = re.sub(r"'(\S+?)'", r"“\1”", said).replace("[", "").replace("]", "")
    said = re.sub(rf"\(((\w+, ){{{LISTED}}})(\w+, ){{{LISTED},}}\w+\)", r"(\1…)", said)
    return said if said.startswith("“") else f"The sentence {said}"
