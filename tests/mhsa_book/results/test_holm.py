"""Holm's correction: by hand, in any order, and what it costs in seeds."""

from random import Random

import pytest

from mhsa_book.results.holm import holm, seeds_needed


def test_a_case_done_by_hand():
    # Sorted 0.005, 0.01, 0.03, 0.04: times 4, 3, 2, 1 gives 0.02, 0.03, 0.06, 0.04. The last is
    # lifted to 0.06, because it may not be called different where a smaller p is not.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))


def test_one_comparison_stays_and_many_stop_at_1():
    assert holm([0.03]) == (0.03,)
    assert holm([0.4, 0.9, 0.7]) == (1.0, 1.0, 1.0)
    assert holm([]) == ()
    assert holm([0.02, 0.02]) == (0.04, 0.04)


def test_it_keeps_the_family_at_five_percent():
    random = Random(0)
    wrong = sum(min(holm([random.random() for _ in range(5)])) <= 0.05 for _ in range(2_000))
    assert 0.035 < wrong / 2_000 < 0.065


def test_eight_seeds_are_enough_for_six_comparisons():
    assert seeds_needed(6) == 8
    assert 7 * 2 / 256 > 0.05
    assert seeds_needed(7) == 9
    assert seeds_needed(1, alpha=0.01) == 8


@pytest.mark.bothways
def test_what_is_no_probability_is_refused():
    with pytest.raises(ValueError, match=r"p=1\.5 is no probability; pass numbers from 0 to 1"):
        holm([0.5, 1.5])
    with pytest.raises(ValueError, match="p=nan is no probability"):
        holm([float("nan")])
    with pytest.raises(ValueError, match=r"alpha=0\.0 is no level of a test"):
        seeds_needed(3, alpha=0.0)
