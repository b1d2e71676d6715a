"""Tables as they are printed."""

import pytest
import torch

from mhsa_book import tables


def printed(capsys, *args, **options):
    tables.show(*args, **options)
    return capsys.readouterr().out.splitlines()


def test_a_line_for_each_row_and_a_column_for_each_name(capsys):
    columns = {"q·k": torch.tensor([16.0, 0.0]), "weight": torch.tensor([0.998, 0.0003])}
    assert printed(capsys, ["animal", "the"], columns, digits=4) == [
        "        q·k  weight",
        "animal   16  0.9980",
        "the       0  0.0003",
    ]


def test_vectors_lists_and_zeros_below_nothing(capsys):
    columns = {"v": torch.tensor([[1.0, -0.001]]), "n": [3], "broken": [float("nan")]}
    assert printed(capsys, ["a"], columns) == [
        "              v  n  broken",
        "a  [1.00, 0.00]  3     NaN",
    ]


def test_a_column_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"column 'weight' is \(3,\) for 2 rows"):
        tables.show(["a", "b"], {"weight": torch.zeros(3)})
