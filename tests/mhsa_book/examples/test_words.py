"""Words as vectors: the columns say what a word is and where it stands."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book import examples
from mhsa_book.examples.words import KINDS


def test_the_sentences_differ_in_one_word_and_in_two_of_its_columns():
    x = examples.sentences()
    assert x.shape == (2, 7, 12)
    differ = (x[0] != x[1]).nonzero().tolist()
    assert [(place, examples.COLUMNS[column]) for place, column in differ] == [
        (6, "living"),
        (6, "place"),
    ]


def test_a_vector_is_what_a_word_is_plus_where_it_stands():
    words = examples.SENTENCES[0]
    parts = examples.meanings(words) + examples.positions(7)
    assert torch.equal(parts, examples.embed(" ".join(words)))
    assert not examples.meanings(words)[:, 7:].any()  # the mark and the clock are places
    assert not examples.positions(7)[:, :7].any()


def test_the_same_word_at_two_places_differs_in_its_place_only():
    x = examples.sentences()[0]
    assert torch.equal(x[0, :7], x[3, :7])
    assert not torch.equal(x[0, 7:], x[3, 7:])


def test_columns_are_named_once_and_eight_of_them_are_0_or_1():
    assert len(set(examples.COLUMNS)) == 12
    x = examples.sentences()[..., : len(KINDS)]
    assert set(x.unique().tolist()) == {0.0, 1.0}


def test_the_product_of_two_clocks_depends_on_their_distance_only():
    clock = examples.positions(8)[:, 8:]
    products = clock @ clock.T
    for distance in range(8):
        of_one = products.diagonal(distance)
        assert_close(of_one, of_one[:1].expand_as(of_one), atol=1e-5, rtol=0)
    assert_close(products.diagonal(0), torch.full((8,), 2.0))
    assert products.fill_diagonal_(0).max() < 1e-5


def test_a_word_that_nobody_knows_and_a_ninth_word_are_refused_by_name():
    with pytest.raises(ValueError, match=r"No vector for 'quince'; choose .*'animal'"):
        examples.embed("the quince")
    with pytest.raises(ValueError, match="9 words; the clock tells 8 places apart"):
        examples.embed(" ".join(["the"] * 9))


def test_nothing_at_all_has_no_vectors():
    assert examples.embed("").shape == (0, 12)
