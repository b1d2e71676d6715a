"""The page cuts texts into the tokens of the model's own tokenizer."""

import unicodedata

import pytest

from mhsa_book.widgets.own_sentence import quantise
from tests.mhsa_book.widgets.own_sentence.texts import TEXTS

REFERENCE = quantise.MODEL()._tokenizer
ALL = 10**9


def whole(text):
    """Half a character as any file has it: U+FFFD, which the tokenizer drops."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def differing(in_node, letters):
    """Characters that, between two letters, give other tokens than the reference."""
    text = " ".join(f"a{letter}b" for letter in letters)
    if in_node.ask("tokens", text, ALL)["ids"] == REFERENCE(text)["input_ids"]:
        return []
    if len(letters) == 1:
        return letters
    half = len(letters) // 2
    return [*differing(in_node, letters[:half]), *differing(in_node, letters[half:])]


def test_500_texts_become_the_tokens_of_the_reference(in_node, report):
    assert len(TEXTS) >= 500
    for text in TEXTS:
        found = in_node.ask("tokens", text, ALL)
        ids = REFERENCE(whole(text))["input_ids"]
        assert found["ids"] == ids, ascii(text)
        assert found["tokens"] == REFERENCE.convert_ids_to_tokens(ids)
    tokens = sum(len(REFERENCE(whole(text))["input_ids"]) for text in TEXTS)
    report(f"own sentence: {len(TEXTS)} texts, {tokens} tokens, all as the reference has them")


@pytest.mark.parametrize("most", [3, 16, quantise.MOST_TOKENS])
def test_what_is_too_long_is_cut_as_the_reference_cuts_it(in_node, most):
    for text in TEXTS[:60]:
        found = in_node.ask("tokens", text, most)
        ids = REFERENCE(whole(text), truncation=True, max_length=most)["input_ids"]
        assert found["ids"] == ids, ascii(text)
        assert found["cut"] == len(REFERENCE(whole(text))["input_ids"]) - len(ids)


def test_the_model_reads_as_many_tokens_as_its_own_tokenizer_keeps():
    file = quantise.MODEL()._tokenizer.backend_tokenizer
    assert file.truncation is None  # the library has switched it off
    assert quantise.MOST_TOKENS == 128


def test_single_characters_are_read_as_the_reference_reads_them(in_node):
    letters = [chr(c) for c in [*range(0x600), *range(0x2000, 0x2100), *range(0x4E00, 0x4F00)]]
    assert differing(in_node, letters) == []


@pytest.mark.slow  # a million characters
def test_only_signs_that_unicode_got_after_version_8_are_read_otherwise(in_node, report):
    points = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    found = [
        letter
        for at in range(0, len(points), 2000)
        for letter in differing(in_node, points[at : at + 2000])
    ]
    kinds = {unicodedata.category(letter) for letter in found}
    report(f"own sentence: {len(found)} of {len(points)} characters are read otherwise")
    assert len(found) < 800
    # Marks and punctuation of scripts that were added later; for "Cn" Python is too old.
    assert kinds <= {"Mn", "Mc", "Po", "Ps", "Pe", "Pd", "Cf", "Cn", "So"}
    assert min(found) == "\u061d"
