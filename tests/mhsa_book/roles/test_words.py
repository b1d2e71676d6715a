"""Pieces find their words, and attention to a word is a sum, from it a mean."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book import roles
from mhsa_book.roles.words import aligned, to_words
from tests.mhsa_book.roles.sentences import SENTENCES, sentence


def pieces_of(forms, tokens):
    return [
        [tokens[i] for i in row.nonzero().flatten().tolist()] for row in aligned(forms, tokens)
    ]


def test_every_word_gets_its_pieces_in_order():
    tokens = ["[CLS]", "the", "rho", "##dod", "##end", "##ron", "didn", "'", "t", ".", "[SEP]"]
    found = pieces_of(["The", "rhododendron", "didn't", "."], tokens)
    assert found == [["the"], ["rho", "##dod", "##end", "##ron"], ["didn", "'", "t"], ["."]]


def test_capitals_and_accents_are_read_as_the_tokenizer_reads_them(model):
    text, forms = "Zoë's café in Łódź", ["Zoë", "'s", "café", "in", "Łódź"]
    tokens, _ = model.attend(text)
    assert aligned(forms, tokens).sum(dim=0).tolist() == [0] + [1] * (len(tokens) - 2) + [0]


def test_one_letter_of_a_piece_is_not_the_piece():
    with pytest.raises(ValueError, match=r"word 0, 'did', does not fit: .* has 'didn' where"):
        aligned(["did", "n't"], ["[CLS]", "didn", "'", "t", "[SEP]"])


@pytest.mark.parametrize(
    ("forms", "words"),
    [
        (["a", "dog"], "word 1, 'dog', does not fit: the tokenizer has 'cat' where 'dog'"),
        (["a"], r"no word is left for the piece 'cat', after \['a'\]"),
        (["a", "cat", "sat"], "word 2, 'sat', has no piece of its own"),
        (["a", "cats"], "word 1, 'cats', has no piece of its own"),
        (["a", "", "cat"], "word 1, '', has no piece of its own"),
    ],
)
def test_other_words_are_refused_by_name(forms, words):
    with pytest.raises(ValueError, match=words):
        aligned(forms, ["[CLS]", "a", "cat", "[SEP]"])


def test_attention_to_a_word_is_the_sum_and_from_it_the_mean():
    weights = torch.rand(2, 3, 6, 6).softmax(dim=-1)
    parts = [[1], [2, 3], [4]]
    found = to_words(
        weights, aligned(["a", "yeti", "."], ["[CLS]", "a", "ye", "##ti", ".", "[SEP]"])
    )
    for i, query in enumerate(parts):
        for j, key in enumerate(parts):
            expected = weights[..., query, :][..., key].sum(dim=-1).mean(dim=-1)
            assert_close(found[..., i, j], expected)


def test_what_is_missing_in_a_row_is_what_was_on_cls_and_sep(readings):
    for reading in readings:
        by_word, ends = reading.by_word, reading.weights[..., [0, -1]].sum(dim=-1)
        belongs = reading.belongs / reading.belongs.sum(dim=-1, keepdim=True)
        assert_close(by_word.sum(dim=-1) + ends @ belongs.mT, torch.ones(by_word.shape[:-1]))


@pytest.mark.bothways
def test_weights_of_other_tokens_are_refused():
    with pytest.raises(
        ValueError, match="weights of 3 queries and 3 keys, but 4 pieces; align"
    ):
        to_words(torch.eye(3), torch.ones(2, 4))


def test_reading_keeps_what_the_model_gave(model, readings):
    tokens, weights = model.attend(SENTENCES[4].text)
    assert readings[4].tokens == tokens
    assert torch.equal(readings[4].weights, weights)
    assert readings[4].by_word.shape == (6, 12, 11, 11)


def test_a_sentence_that_is_not_its_text_is_refused(model):
    other = sentence("The cat sat.", "The DET 1 det\ndog NOUN - root")
    with pytest.raises(
        ValueError, match="word 1, 'dog', does not fit: the tokenizer has 'cat'"
    ):
        roles.read(model, [other])
