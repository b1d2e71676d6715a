"""The exercises of chapter 05 name the mistakes that are made."""

import pytest

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
