"""Simple guesses that a head has to beat: they know parts of speech, and no tree.

``arcs.fixed_offset`` and ``arcs.of_a_class`` are the guesses for an encoder, and
``on_either_side`` is one that was added for adverbs. A decoder looks
back, also from a noun to its article, so that there the partner can be of any part of speech:
``earlier_of_a_tag``. For pronouns ``agreeing_nouns`` knows number, and who is a person.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from mhsa_book.roles.arcs import CLASSES, NOUNS, Arcs
from mhsa_book.roles.reading import Sentence, Word

PLURALS = frozenset({"children", "people", "women", "wolves"})
"""Plural nouns of the annotated sentences, mostly those that do not end in s."""

NOT_PLURAL = frozenset({"atlas", "boss", "class", "Thomas"})
"""Nouns that end in s and are no plurals."""

PERSONS = frozenset(
    {
        *(
            "actress",
            "aunt",
            "boy",
            "boys",
            "brother",
            "captain",
            "carpenter",
            "chef",
            "children",
            "daughters",
            "director",
            "farmers",
            "father",
            "general",
            "girls",
            "guests",
            "hikers",
            "judge",
            "king",
            "man",
            "manager",
            "monks",
            "mother",
            "neighbour",
            "nuns",
            "owner",
            "people",
            "pianist",
            "players",
            "professor",
            "queen",
            "ranger",
            "rivals",
            "sailors",
            "shepherd",
            "sister",
            "soldier",
            "stranger",
            "students",
            "teacher",
            "twins",
            "visitors",
            "widow",
            "winner",
            "women",
        )
    }
)
"""Nouns of the annotated sentences that mean persons; a name means one, too."""

PLACES = frozenset({"Italian", "Rome", "Lisbon"})
"""Names that mean no person."""

PLURAL_PRONOUNS = frozenset({"they", "them", "their", "theirs", "themselves"})
PERSON_PRONOUNS = frozenset({"he", "him", "his", "himself", "she", "her", "hers", "herself"})


def earlier_of_a_tag(sentences: Sequence[Sentence], arcs: Arcs) -> dict[str, Tensor]:
    """Guesses that take the nearest earlier word of some part of speech: right or not, (arc).

    One guess for every part of speech, and one for each of ``arcs.CLASSES``. Where no such word
    stands before, the guess is not right.
    """
    tags = {word.upos for sentence in sentences for word in sentence.words}
    classes = {**{tag: (tag,) for tag in sorted(tags)}, **CLASSES}
    found: dict[str, list[bool]] = {}
    for i, word, partner in zip(*(field.tolist() for field in arcs[:3]), strict=True):
        earlier = sentences[i].words[:word]
        for name, some in classes.items():
            alike = (j for j in reversed(range(word)) if earlier[j].upos in some)
            found.setdefault(f"previous {name}", []).append(next(alike, None) == partner)
    return {name: torch.tensor(right) for name, right in found.items()}


def earlier_noun_or_pronoun(sentences: Sequence[Sentence], arcs: Arcs) -> Tensor:
    """The guess that takes the nearest earlier noun or pronoun: right or not, (arc)."""
    found: list[bool] = []
    for i, word, partner in zip(*(field.tolist() for field in arcs[:3]), strict=True):
        tags = [each.upos for each in sentences[i].words[:word]]
        nominal = (j for j in reversed(range(word)) if tags[j] in {*NOUNS, "PRON"})
        found.append(next(nominal, None) == partner)
    return torch.tensor(found)


def on_either_side(sentences: Sequence[Sentence], arcs: Arcs) -> dict[str, Tensor]:
    """Guesses that take the nearest word of a class, before or after: right or not, (arc).

    One for each of ``arcs.CLASSES``. Of two that are equally near the later one is taken.
    """
    found: dict[str, list[bool]] = {}
    for i, word, partner in zip(*(field.tolist() for field in arcs[:3]), strict=True):
        words = sentences[i].words
        for name, tags in CLASSES.items():
            alike = [j for j, each in enumerate(words) if each.upos in tags and j != word]
            nearest = min(alike, key=lambda j: (abs(j - word), -j), default=None)
            found.setdefault(f"nearest {name}", []).append(nearest == partner)
    return {name: torch.tensor(right) for name, right in found.items()}


def is_plural(noun: Word) -> bool:
    """Whether a noun is a plural, by its letters and two short lists."""
    if noun.form in NOT_PLURAL or noun.form.endswith("ss"):
        return False
    return noun.form.lower() in PLURALS or (noun.upos == "NOUN" and noun.form.endswith("s"))


def is_person(noun: Word) -> bool:
    """Whether a noun means a person, by a list made for the annotated sentences."""
    if noun.upos == "PROPN":
        return noun.form not in PLACES
    return noun.form.lower() in PERSONS


def agreeing_nouns(sentences: Sequence[Sentence], arcs: Arcs) -> dict[str, Tensor]:
    """Guesses that take a noun before the pronoun that agrees with it: right or not, (arc).

    The nearest or the first, of all nouns or of subjects. "Number" asks for a plural behind
    *they*, *them* or *their* and for a singular behind all others. "Number and person" also
    asks for a person behind *he* or *she* and for none behind *it*. No gender is known.
    """
    found: dict[str, list[bool]] = {}
    for i, word, partner in zip(*(field.tolist() for field in arcs[:3]), strict=True):
        words = sentences[i].words
        nouns = [each for each in words[:word] if each.upos in NOUNS]
        for name in ("number", "number and person"):
            fit = [each for each in nouns if _agrees(words[word], each, name)]
            subjects = [each for each in fit if each.relation.startswith("nsubj")]
            for kind, some in {"noun": fit, "subject": subjects}.items():
                for which, place in {"nearest": slice(-1, None), "first": slice(1)}.items():
                    right = some[place] == [words[partner]]
                    found.setdefault(f"{which} {kind}, {name}", []).append(right)
    return {name: torch.tensor(right) for name, right in found.items()}


def on_the_rare(sentences: Sequence[Sentence], rare: Sequence[Tensor]) -> dict[str, Tensor]:
    """Guesses that look at some other word of the sentence: their chance to hit a rare one.

    Any content word (noun, verb, adjective or adverb), any noun, or the longest word; among
    several of a kind each is as likely. ``rare`` and the words, (word), are those of
    ``rarest.on_rarest``.
    """
    found: dict[str, list[float]] = {}
    for sentence, is_rare in zip(sentences, rare, strict=True):
        for i in range(len(sentence.words)):
            if is_rare.sum() > int(is_rare[i]):
                for name, places in _other_words(sentence, i).items():
                    hits = [bool(is_rare[place]) for place in places]
                    found.setdefault(name, []).append(sum(hits) / max(1, len(hits)))
    return {name: torch.tensor(chances) for name, chances in found.items()}


def _other_words(sentence: Sentence, i: int) -> dict[str, list[int]]:
    others = [(j, word) for j, word in enumerate(sentence.words) if j != i]
    content = {*NOUNS, "VERB", "ADJ", "ADV"}
    most = max(len(word.form) for _, word in others)
    return {
        "any content word": [j for j, word in others if word.upos in content],
        "any noun": [j for j, word in others if word.upos in NOUNS],
        "the longest word": [j for j, word in others if len(word.form) == most],
    }


def _agrees(pronoun: Word, noun: Word, by: str) -> bool:
    said = pronoun.form.lower()
    if (said in PLURAL_PRONOUNS) != is_plural(noun):
        return False
    if by == "number" or said in PLURAL_PRONOUNS:
        return True
    return is_person(noun) == (said in PERSON_PRONOUNS)
