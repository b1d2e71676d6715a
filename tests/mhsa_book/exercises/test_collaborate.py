"""Chapter 21: rows of mixing, one that opposes and three that differ."""

import pytest
import torch

from mhsa_book import examples
from mhsa_book.conversions.to_collaborative import to_collaborative
from mhsa_book.exercises import check

SIGNS = [[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1]]


def test_the_row_may_come_from_the_attention_itself():
    mixing = to_collaborative(examples.random_attention().double()).split.mixing
    assert check("opposed_row", -mixing[0])
    assert check("opposed_row", (-mixing[0]).tolist())
    assert "prefers what head 0 prefers" in check("opposed_row", mixing[0]).text
    assert "turns head 1 around" in check("opposed_row", -mixing[1]).text
    assert "does not read" in check("opposed_row", 1 - mixing[0]).text
    assert not check("opposed_row", -mixing)


@pytest.mark.parametrize("rows", [SIGNS, torch.tensor(SIGNS), torch.tensor(SIGNS) * 2.5])
def test_rows_that_differ_in_signs_are_enough(rows):
    assert check("three_rows", rows)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (torch.ones(3, 4), "Heads 0 and 1 look alike"),
        ([SIGNS[0], SIGNS[1], SIGNS[1]], "Heads 1 and 2 look alike"),
        ([*SIGNS[:2], [1, 1, 1, 1.01]], "Heads 0 and 2 look alike"),
        ([*SIGNS[:2], [1, 0, 1, 1]], "Row 2 has a 0 in column 1"),
        (torch.ones(4, 3), "The shape is (4, 3)"),
        ([*SIGNS[:2], [1, 1, 1, float("nan")]], "infinite, or none"),
        (SIGNS[:2], "The shape is (2, 4)"),
        ("signs", "Trying it raises"),
        (None, "Trying it raises"),
    ],
)
def test_rows_that_are_alike_or_blind_are_named(rows, said):
    assert said in check("three_rows", rows).text


def test_the_width_of_plain_scores_and_what_is_cached():
    assert check("width_of_plain_scores", (64, 64 + 16 + 1024))
    assert "a content for each head" in check("width_of_plain_scores", (64, 1088)).text
    assert "cache is that of plain" in check("width_of_plain_scores", (64, 2048)).text
    assert not check("width_of_plain_scores", (1, 1041))
    assert not check("width_of_plain_scores", 64)
