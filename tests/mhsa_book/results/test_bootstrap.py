"""The interval of a mean over words is that of its sentences."""

import pytest
import torch

from mhsa_book.results import bootstrap


def test_the_interval_covers_the_truth_as_often_as_it_says():
    """Sentences of one to five words that go together: 95 % of the intervals."""
    generator, hits = torch.Generator().manual_seed(0), 0
    for draw in range(300):
        counts = torch.randint(1, 6, (60,), generator=generator)
        sums = counts * (torch.randn(60, generator=generator) + 2)
        found = bootstrap.mean(sums, counts, n_draws=400, seed=draw)
        hits += found.low <= 2 <= found.high
    assert 0.90 < hits / 300 < 0.98


def test_a_long_sentence_weighs_as_much_as_its_words():
    found = bootstrap.mean(torch.tensor([0.0, 9.0] * 20), torch.tensor([1, 9] * 20))
    assert found.mean == pytest.approx(0.9)
    assert 0.8 < found.low < 0.9 < found.high < 0.95


def test_a_sentence_without_words_changes_nothing_but_the_draws():
    found = bootstrap.mean(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([1, 0, 0]))
    assert found == (1, 1, 1)


@pytest.mark.bothways
def test_no_word_and_other_shapes_are_refused():
    with pytest.raises(ValueError, match="with 0 words; give one number a sentence"):
        bootstrap.mean(torch.ones(2), torch.zeros(2))
    with pytest.raises(ValueError, match=r"sums \(2,\) and counts \(3,\)"):
        bootstrap.mean(torch.ones(2), torch.ones(3))
    with pytest.raises(ValueError, match="n_draws=0 is not a size"):
        bootstrap.mean(torch.ones(2), torch.ones(2), n_draws=0)
