"""Chapter 10: what its sentences say of one model and of the dictionary, beside the outputs."""

from functools import cache
from pathlib import Path

import nbformat

from mhsa_book.examples.language.words import AMBIGUOUS, DRY, WET
from mhsa_book.widgets import TranslatorLab
from mhsa_book.widgets.translator_lab.translator_lab import heads_by_name

FILE = Path(__file__).parents[2] / "notebooks" / "10_in_a_transformer.ipynb"
TEXT = "rolan ot meti balo ke tekan ip balo"


@cache
def cells() -> list:
    """Read when a test asks: the walks of CONTRIBUTING run beside a single chapter."""
    return nbformat.read(FILE, as_version=4).cells


def prose_with(words: str) -> str:
    (found,) = (c.source for c in cells() if c.cell_type == "markdown" and words in c.source)
    return found


def test_one_head_alone_breaks_the_sentence_and_by_a_single_letter():
    assert 'Without "decoder L1H1" a single letter is wrong.' in prose_with("{admonition} Try")
    assert any(cell.source == "widgets.TranslatorLab(text)" for cell in cells())
    lab, broken = TranslatorLab(TEXT), {}
    for name in heads_by_name():
        lab.off = [name]
        if lab.translation != lab.right:
            broken[name] = [
                a + b for a, b in zip(lab.translation, lab.right, strict=True) if a != b
            ]
    assert broken == {"decoder L1H1": ["ao"]}


def test_the_words_that_an_exercise_lists_are_those_of_the_dictionary():
    text = prose_with("Six nouns have two meanings: ")
    nouns = text.split("two meanings: ")[1].split(".")[0].split(", ")
    wet = text.split("Wet verbs are ")[1].split(";")[0].split(", ")
    dry = text.split("dry ones ")[1].split(".")[0].split(", ")
    assert (len(nouns), set(nouns)) == (6, set(AMBIGUOUS))
    assert (set(wet), set(dry)) == (set(WET), set(DRY))
