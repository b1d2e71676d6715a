"""Exercises of chapter 10, in a Transformer."""

from collections.abc import Iterator
from typing import Any

from mhsa_book.examples import language
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_book.transformer import EOS, padded, shifted

TEXT = "miran ul noso ip rupo"
"""To translate by hand, with the greeting "hoi"."""

N_SOURCE, N_SAID = 12, 13
"""Words of a source, and words of its translation with the end of the sentence."""


def by_hand() -> str:
    """The translation of the sentence that begins with "hoi"."""
    return " ".join(language.translations(TEXT)[1].target)


def projected() -> tuple[int, int]:
    """Rows of the memory that one cross-attention projects: with a cache, and without."""
    return N_SOURCE, N_SOURCE * N_SAID


def targets() -> Iterator[dict[str, Any]]:
    """One sentence of one word, one of three, and two of different lengths."""
    for sentences in ([[7, EOS]], [[5, 3, 9, EOS]], [[5, 3, 9, EOS], [7, EOS]]):
        yield {"target": padded(sentences)}


def _fault_of_sentences(answer: Any) -> str:
    """Why two texts do not differ in one word and translate another one differently."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        return "Give two sentences, each as one text."
    one, other = (language.translations(text)[0] for text in answer)  # says what is no sentence
    if len(one.source) != len(other.source):
        return f"One has {len(one.source)} words and the other {len(other.source)}."
    places = range(len(one.source))
    changed = [place for place in places if one.source[place] != other.source[place]]
    if len(changed) != 1:
        return f"They differ in {len(changed)} words, not in one."
    shared = [place for place in places if place not in changed]
    if any(_says(one, place) != _says(other, place) for place in shared):
        return ""
    return "Every word that they share is translated in the same way."


def _says(pair: language.Pair, place: int) -> set[str]:
    """The words that translate it and nothing else; a number adds to those of its noun."""
    return {word.text for word in pair.words if word.aligned == {place}}


UNSHIFTED = {
    lambda target: (target, target): (
        "Given is what it shall say: it would learn to repeat the word that it reads."
    ),
    lambda target: shifted(target)[::-1]: "First what is given, then what shall be said.",
    lambda target: (target[..., :-1], target[..., 1:]): (
        "The first word is never asked for. What stands in front of it, when nothing has been "
        "said?"
    ),
    lambda target: (shifted(target)[0][..., :-1], target[..., :-1]): (
        "The end of the sentence has to be said, too."
    ),
}


EXERCISES: dict[str, Exercise] = {
    "by_hand": Value(
        by_hand,
        because="Three times the first noun, the second once, and the verb with an o.",
        wrong={
            "hoi rektu rektu rektu vastu sulo": "noso beside a wet verb is yamu.",
            "hoi yamu yamu yamu vastu sula": "After hoi a verb ends in -o.",
            "hoi sulo yamu yamu yamu vastu": "In the target the verb comes last.",
            "hoi yamu vastu sulo": "ul says how often its noun is said: three times.",
            "yamu yamu yamu vastu sulo": "The greeting is a word of the translation.",
        },
    ),
    "shifted_by_hand": FunctionWithKnownMistakes(
        lambda target: shifted(target),
        targets,
        because="The padding of the target stays padding: the loss leaves it out.",
        mistakes=UNSHIFTED,
    ),
    "rows_projected": Value(
        projected,
        because="Once for all, or once for every word that is written, the end too.",
        wrong={
            (N_SOURCE, N_SOURCE * (N_SAID - 1)): "The end of the sentence is written too.",
            (N_SOURCE * N_SAID, N_SOURCE): "It is the other way round.",
            (1, N_SOURCE): "That is one call; count all of them.",
        },
    ),
    "one_word_decides": OpenAnswer(
        _fault_of_sentences,
        because="The noun is the same and stands at the same place; the verb has told it.",
    ),
}
