"""The exercises of chapters 05 and 05a name the mistakes that are made."""

import math

import pytest
import torch

from mhsa_book import exercises


@pytest.mark.parametrize(
    ("z", "said"), [(2.0, "Right"), (4.0, "plain average"), (16.0, "sum to 1"), (3.0, "not it")]
)
def test_a_row_by_hand(z, said):
    assert said in repr(exercises.check("attend_by_hand", z))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (([1.0, 0.0], [3.0, 1.0]), "Right"),
        (([1.0, 0.0], [2.0, 100.0]), "Right"),  # nearly at a right angle
        (([1.0, 0.0], [1.0, 5.0]), "has to be larger"),  # longer, but not the same way
        (([1.0], [2.0]), "two numbers each"),
    ],
)
def test_a_query_that_prefers_another_though_keys_are_queries(answer, said):
    assert said in repr(exercises.check("attend_elsewhere", answer))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([0, 0.5, 0, 0, 0, 0, 0.5], "Right"),
        (torch.tensor([0, 0.4998, 0, 0, 0, 0, 0.4998]), "Right"),
        ([0, 1, 0, 0, 0, 0, 1], "divide them by their sum"),
        ([0, 1, 0, 0, 0, 0, 0], "before the exchange"),
        ([0, 0.9, 0, 0, 0, 0, 0.9], "sum to 1.80"),
        ([0, 0.1, 0.1, 0, 0.1, 0.2, 0.5], "word 1, 'animal', is another one"),
        ([1], "seven weights"),
    ],
)
def test_a_row_when_queries_and_keys_change_places(row, said):
    assert said in repr(exercises.check("attend_exchanged", row))


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("nothing_asked", 4, "Right"),
        ("nothing_asked", 0, "what do weights sum to"),
        ("nothing_asked", 12, "between the smallest and the largest"),
        ("pushes", [0, -1, 1], "Right"),
        ("pushes", torch.tensor([0.0, -1.0, 1.0]), "Right"),
        ("pushes", [0, 1, -1], "goes against it"),
        ("pushes", [0, -4, 4], "multiplied by its weight"),
        ("pushes", [2, 0, 2], "terms of z"),
        ("factor_of_cosines", math.log(54), "Right"),
        ("factor_of_cosines", 3.98898, "Right"),
        ("factor_of_cosines", math.log(9), "six other words"),
        ("factor_of_cosines", 54, "logarithm"),
    ],
)
def test_an_expected_mistake_is_named(name, answer, said):
    assert said in repr(exercises.check(name, answer))
