"""Where a dial stands: the stop that is nearest, below zero too."""

import pytest

from tests.mhsa_book.widgets.conftest import node

CASES = {
    "by a factor": ([1, 2, 4, 8], 3, 4),
    "by a difference": ([-4, -2, 0, 2, 4], -2.9, -2),
    "zero": ([0, 0.5, 1], 0, 0),
    "near zero": ([0, 0.5, 1], 0.3, 0.5),
    "beyond the last": ([-1, 0, 1], 9, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_the_nearest_stop(name):
    stops, wish, nearest = CASES[name]
    assert node("shared/stops", ("nearest", stops, wish)) == [nearest]
