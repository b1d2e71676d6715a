"""The rarest word, by the order of the vocabulary, and who looks at it."""

import pytest
import torch

from mhsa_book import roles
from mhsa_book.roles.rarest import on_rarest, rarest
from tests.mhsa_book.roles.sentences import SENTENCES


def ranked(model, reading, n=1):
    return rarest(reading.tokens, model.ids(reading.tokens), reading.belongs, n)


def test_a_word_in_pieces_is_rarer_than_every_whole_word(model, readings):
    forms = [word.form for word in SENTENCES[4].words]
    found = ranked(model, readings[4])
    assert [form for form, is_rare in zip(forms, found, strict=True) if is_rare] == [
        "rhododendrons"
    ]


def test_of_whole_words_the_largest_id_is_the_rarest(model, readings):
    forms = [word.form for word in SENTENCES[2].words]
    two = ranked(model, readings[2], n=2)
    assert {form for form, is_rare in zip(forms, two, strict=True) if is_rare} == {
        "engineer",
        "Roman",
    }


def test_small_pieces_do_not_hide_that_a_word_was_cut():
    belongs = torch.tensor([[1.0, 0, 0], [0, 1, 1]])
    assert rarest(["engine", "ye", "##ti"], [9000, 5, 6], belongs).tolist() == [False, True]


def test_an_apostrophe_does_not_cut_a_word():
    belongs = torch.tensor([[1.0, 0, 0], [0, 1, 1]])
    assert rarest(["engine", "'", "s"], [3194, 1005, 1055], belongs).tolist() == [True, False]


def test_of_two_cut_words_the_largest_piece_decides():
    belongs = torch.tensor([[1.0, 1, 0, 0], [0, 0, 1, 1]])
    assert rarest(["a", "##b", "c", "##d"], [50, 7, 30, 40], belongs).tolist() == [True, False]


def test_the_rarest_word_itself_is_not_asked_where_it_is_the_only_one():
    rare = torch.tensor([False, False, True])
    hits, chances, sentences = on_rarest(torch.tensor([[[[2, 2, 0]]]]), [rare])
    assert hits.flatten().tolist() == [True, True]
    assert chances.tolist() == [0.5, 0.5]
    assert sentences.tolist() == [0, 0]


def test_one_of_two_may_look_at_the_other():
    rare = torch.tensor([True, False, True])
    hits, chances, _ = on_rarest(torch.tensor([[[[2, 0, 1]]]]), [rare])
    assert hits.flatten().tolist() == [True, True, False]
    assert chances.tolist() == [0.5, 1, 0.5]


@pytest.mark.parametrize("n", [1, 2])
def test_random_heads_hit_as_often_as_chance_says(n):
    maps = [torch.rand(6, 12, k, k) for k in (5, 9, 14, 7)]
    rare = [torch.arange(each.shape[-1]) < n for each in maps]
    hits, chances, sentences = on_rarest(roles.tops(maps), rare)
    assert hits.double().mean().item() == pytest.approx(chances.mean().item(), abs=0.02)
    assert sentences.tolist() == [
        i for i, k in enumerate((5, 9, 14, 7)) for _ in range(k - (n == 1))
    ]


@pytest.mark.bothways
def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="2 tokens and 3 ids for 2 pieces, n=1 rarest of 2"):
        rarest(["a", "b"], [1, 2, 3], torch.eye(2))
    with pytest.raises(ValueError, match=r"n=2 rarest of 2 words; pass .* an n below"):
        rarest(["a", "b"], [1, 2], torch.eye(2), n=2)
    with pytest.raises(ValueError, match="tops of 1 sentences, rare words of 2"):
        on_rarest(torch.zeros(1, 1, 1, 3).long(), [torch.ones(3) > 0] * 2)
