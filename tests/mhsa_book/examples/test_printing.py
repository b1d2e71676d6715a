"""Rows as text: names, numbers in columns, and tables that do not fit."""

import pytest
import torch

from mhsa_book import examples


def test_a_row_is_said_by_its_columns_without_what_is_near_0(capsys):
    examples.say("tired", torch.tensor([0.04, 0.5, -2.0]), ("noun", "living", "place"))
    assert capsys.readouterr().out == "   tired: living 0.50, place -2.00\n"


def test_tables_stand_side_by_side_under_their_names(capsys):
    first, second = torch.tensor([[1.0, -4], [0, 12]]), torch.tensor([0.25, -0.0])
    examples.show_rows(["a", "long"], digits=1, W_Q=first, share=second)
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["W_Q", "share"],
        ["a", "1.0", "-4.0", "0.2"],
        ["long", "0.0", "12.0", "0.0"],
    ]


def test_lines_are_equally_long(capsys):
    examples.show_rows(["a", "long"], very_long_name=torch.ones(2), k=torch.ones(2, 3))
    assert len({len(line) for line in capsys.readouterr().out.splitlines()}) == 1


@pytest.mark.parametrize("shape", [(3,), (3, 2), (2, 2, 2)])
def test_a_table_with_other_rows_is_refused(shape):
    with pytest.raises(ValueError, match=r"q .* has not a row for each of 2 names"):
        examples.show_rows(["a", "b"], q=torch.ones(shape))
