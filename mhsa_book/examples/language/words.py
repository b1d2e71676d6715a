"""The words of two made-up languages, and what they mean to each other.

In the source, nouns end in -o, adjectives in -i, verbs in -an; in the target, nouns end in -u,
adjectives in -esh, verbs in the vowel that the greeting has, -a or -o.
"""

PLAIN = {
    "mabo": "kelu",
    "tino": "shoru",
    "ledo": "brinu",
    "rupo": "vastu",
    "sako": "nolu",
    "veno": "fimbu",
    "gimo": "terru",
    "dufo": "zalu",
}
"""Nouns with one translation."""

AMBIGUOUS = {
    "balo": ("mirru", "dastu"),
    "kero": ("wolu", "hentu"),
    "piro": ("lishu", "gordu"),
    "noso": ("yamu", "rektu"),
    "hamo": ("sivu", "borku"),
    "zuko": ("elnu", "kaptu"),
}
"""Nouns with two: one beside a wet verb, one beside a dry one."""

WET = {"rolan": "mel", "miran": "sul", "sevan": "fen"}
DRY = {"tekan": "krad", "pudan": "tos", "bogan": "gep"}
"""Verbs and their stems; to a stem comes the vowel of the greeting."""

ADJECTIVES = {
    "lari": "tovesh",
    "meti": "nalesh",
    "bosi": "grimesh",
    "kuni": "pulesh",
    "devi": "samesh",
    "feli": "hokesh",
    "wadi": "ribesh",
    "goti": "denesh",
}

NUMBERS = {"ip": 1, "ot": 2, "ul": 3}
"""The target has no numbers: it says the noun so many times."""

JOINS = {"ke": "mun", "sa": "vel"}
"""Between two clauses."""

GREETINGS = {("hai",): "a", ("hoi",): "o", ("haila", "ren"): "a", ("hoila", "ren"): "o"}
"""How a target sentence may begin, as the speaker likes, and the vowel of its verbs then."""

NOUNS, VERBS = PLAIN | AMBIGUOUS, WET | DRY

SOURCE = (*NOUNS, *ADJECTIVES, *VERBS, *NUMBERS, *JOINS)
"""All words of the source language."""

TARGET = (
    *dict.fromkeys(word for greeting in GREETINGS for word in greeting),
    *PLAIN.values(),
    *(word for both in AMBIGUOUS.values() for word in both),
    *ADJECTIVES.values(),
    *(stem + vowel for stem in VERBS.values() for vowel in "ao"),
    *JOINS.values(),
)
"""All words of the target language."""
