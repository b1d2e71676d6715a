"""Chances of drawn heads, against every draw there is."""

from itertools import combinations, product

import pytest

from mhsa_book.results.hypergeometric import at_least, chances


@pytest.mark.parametrize(("n", "marked", "kept"), [(6, 2, 3), (5, 4, 3), (4, 0, 2), (4, 4, 0)])
def test_chances_are_shares_of_all_draws(n, marked, kept):
    draws = [sum(i < marked for i in some) for some in combinations(range(n), kept)]
    expected = [draws.count(i) / len(draws) for i in range(marked + 1)]
    assert chances(n, marked, kept) == pytest.approx(expected)
    assert sum(chances(n, marked, kept)) == pytest.approx(1)


@pytest.mark.parametrize("found", range(6))
def test_several_draws_are_added_up(found):
    draws = [
        [sum(i < marked for i in some) for some in combinations(range(5), 2)]
        for marked in (2, 3)
    ]
    both = [sum(pair) for pair in product(*draws)]
    expected = sum(total >= found for total in both) / len(both)
    assert at_least(found, 5, [2, 3], 2) == pytest.approx(expected)


def test_at_least_none_is_certain():
    assert at_least(0, 24, [4, 5], 8) == pytest.approx(1)
    assert at_least(10, 24, [4, 5], 8) == 0


@pytest.mark.bothways
@pytest.mark.parametrize(("marked", "kept"), [(5, 2), (2, 5), (-1, 2)])
def test_more_than_there_are_is_refused(marked, kept):
    with pytest.raises(ValueError, match=f"marked={marked} and kept={kept} of n=4"):
        chances(4, marked, kept)
