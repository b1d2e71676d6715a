"""The exercises of the primer find the mistakes that a first attempt makes."""

import pytest
import torch

from mhsa_book.exercises import check


def test_sums_that_lie_the_wrong_way_are_found_in_the_smallest_square_table():
    def over_columns(scores):
        powers = scores.exp()
        return powers / powers.sum(dim=-1)

    said = check("soften", over_columns).text
    assert said.startswith("Not yet. The numbers differ.")
    assert "right: tensor([[" in said


def test_one_sum_for_all_rows_is_refused():
    assert not check("soften", lambda scores: scores.exp() / scores.exp().sum())


def test_the_shares_are_those_that_mix_the_row_of_the_question():
    rows = torch.tensor([[1.0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1]])
    shares = [0.25, 0.25, 0.5]
    assert check("shares_of_the_mix", shares)
    assert (torch.tensor(shares) @ rows).tolist() == [0.5, 0.75, 0.25, 0.5]


@pytest.mark.parametrize("moved", [0, 3, -1.5])
def test_only_the_differences_of_the_scores_count(moved):
    assert check("scores_for_shares", torch.tensor([0.693, 0, 0]) + moved)


@pytest.mark.parametrize("scores", [[2, 1, 1], [0.5, 0.25, 0.25], [0, 0.693, 0]])
def test_other_scores_hear_which_shares_they_have(scores):
    shares = torch.tensor(scores, dtype=torch.float64).softmax(dim=0)
    assert f"{shares[0]:.2f}" in check("scores_for_shares", scores).text
