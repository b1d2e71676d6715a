"""Where a head looks most, and which heads count places."""

import pytest
import torch

from mhsa_book import roles


def test_the_own_word_does_not_count():
    own = 0.9 * torch.eye(4) + 0.1 * torch.eye(4).roll(1, dims=-1)
    assert roles.tops([own[None, None]]).flatten().tolist() == [1, 2, 3, 0]


def test_the_own_word_does_not_count_even_without_another_weight():
    assert (roles.tops([torch.eye(3)[None, None]]) != torch.arange(3)).all()


def test_only_earlier_words_count_before_and_the_first_has_none():
    later = torch.tensor([[0.0, 0.0, 0.9], [0.1, 0.0, 0.9], [0.1, 0.2, 0.7]])
    assert roles.tops_before([later[None, None]]).flatten().tolist() == [-1, 0, 1]


@pytest.mark.parametrize("tops", [roles.tops, roles.tops_before])
def test_sentences_of_all_lengths_stand_in_one_table(tops):
    maps = [torch.rand(2, 3, n, n) for n in (4, 2, 5)]
    table = tops(maps)
    assert table.shape == (3, 2, 3, 5)
    for each, row in zip(maps, table, strict=True):
        n = each.shape[-1]
        assert (row[..., n:] == -1).all()
        assert torch.equal(row[..., :n], tops([each])[0])


def test_no_sentence_is_refused():
    with pytest.raises(ValueError, match="maps is empty"):
        roles.tops([])


def test_a_share_at_a_distance_is_that_of_the_words_that_have_one():
    previous = torch.eye(5).roll(-1, dims=-1)  # the first word looks at the last
    assert roles.at_distance([previous[None, None]], -1).item() == 1
    assert roles.at_distance([previous[None, None]], 0).item() == 0
    both = torch.stack([previous, torch.eye(5)])[None]
    assert roles.at_distance([both, both], 0).tolist() == [[0, 1]]


def test_words_weigh_the_same_in_sentences_of_all_lengths():
    short, long = torch.eye(3)[None, None], torch.eye(7).roll(1, dims=-1)[None, None]
    assert roles.at_distance([short, long], 0).item() == pytest.approx(0.3)


def test_a_distance_that_no_sentence_has_is_refused():
    with pytest.raises(
        ValueError, match=r"no word has another 4 places on, .* at most 3 words"
    ):
        roles.at_distance([torch.eye(3)[None, None]], 4)


def test_the_rule_finds_the_four_positional_heads_of_chapter_11(readings):
    maps = [reading.weights[..., 1:-1, 1:-1] for reading in readings]
    found = {
        offset: (roles.at_distance(maps, offset) >= 0.9).nonzero().tolist()
        for offset in (-2, -1, 0, 1, 2)
    }
    assert found == {-2: [], -1: [[0, 2], [1, 9], [2, 11]], 0: [], 1: [[1, 8]], 2: []}
