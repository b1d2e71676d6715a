"""Rank correlation, with ties, along the last axis."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book.roles.ranks import ranks, spearman


def test_only_the_order_counts():
    values = torch.randn(6, 12)
    assert_close(spearman(values, values.exp()), torch.ones(6).double())
    assert_close(spearman(values, -values), -torch.ones(6).double())


def test_without_ties_it_is_the_textbook_formula():
    one, two = torch.randperm(12), torch.randperm(12)
    n, d = 12, (one - two).double()
    assert_close(spearman(one, two), 1 - 6 * (d**2).sum() / (n * (n**2 - 1)))


def test_equal_values_share_their_rank():
    assert ranks(torch.tensor([5, 1, 5, 5, 0])).tolist() == [4, 2, 4, 4, 1]
    assert spearman(torch.tensor([1, 1, 2]), torch.tensor([1, 1, 2])).item() == pytest.approx(1)


def test_one_in_twenty_unrelated_rows_of_twelve_is_beyond_058():
    drawn = spearman(torch.rand(20000, 12), torch.rand(20000, 12)).abs()
    assert (drawn > 0.58).double().mean().item() == pytest.approx(0.05, abs=0.01)


@pytest.mark.bothways
def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match=r"values \(3,\) and \(4,\); give one shape"):
        spearman(torch.rand(3), torch.rand(4))
    with pytest.raises(ValueError, match="at least two heads along the last axis"):
        spearman(torch.rand(3, 1), torch.rand(3, 1))
