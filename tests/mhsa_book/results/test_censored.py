"""Steps that may be never: who was first, and nothing invented."""

from math import comb, inf
from random import Random

import pytest

from mhsa_book.results.censored import paired_steps


def compared(ours, theirs, horizon=1_000):
    return paired_steps({"a": dict(enumerate(ours)), "b": dict(enumerate(theirs))}, horizon)


def test_where_all_arrive_it_is_the_median_difference():
    found = compared([10, 20, 30, 40, 50, 60], [15, 40, 40, 70, 90, 65])
    assert found.bounds == tuple((d, d) for d in (-5.0, -20, -10, -30, -40, -5))
    assert found.difference == -15
    assert not found.at_least
    assert found.note == ""
    assert found.p == 2 / 64
    assert found.interval() == (-40, -5)


def test_what_never_arrives_has_no_end_and_no_number():
    found = compared([10, 20, 30, 40, 50, 60], [15, None, None, None, None, 65])
    assert found.bounds[1] == (-inf, 20 - 1_001)
    assert found.difference == (40 - 1_001 + 50 - 1_001) / 2
    assert found.at_least
    assert found.interval() == (-inf, -5)
    assert found.reached == (6, 2)
    assert found.note == "a got there in 6, b in 2 of 6 seeds"
    assert found.p == 2 / 64


def test_swapping_the_arms_turns_the_sign():
    ours, theirs = [10, None, 30, 900, None, 60, 70], [15, 30, None, 40, None, 65, 71]
    one, other = compared(ours, theirs), compared(theirs, ours)
    assert one.difference == -other.difference
    assert one.interval() == tuple(-end for end in reversed(other.interval()))
    assert (one.p, one.same_p(50)) == (other.p, other.same_p(50))


def test_seeds_in_which_neither_arrives_are_counted_and_left_out():
    found = compared([None, None, 30], [None, 40, 50])
    assert (found.n, len(found.seeds), found.reached) == (2, 3, (1, 2))
    nothing = compared([None, None], [None, None])
    assert (nothing.n, nothing.p, nothing.difference) == (0, 1, 0)
    assert nothing.interval() == (-inf, inf)
    assert nothing.same_p(10) == 1


def test_a_median_between_two_that_never_meet_is_unknown():
    found = compared([10, None], [None, 10])
    assert (found.difference, found.at_least, found.p) == (0, True, 1)


def test_ties_say_nothing():
    assert compared([10, 20, 30], [10, 30, 40]).p == 2 / 4
    assert compared([10, 20], [10, 20]).p == 1


def test_arriving_at_the_last_step_is_before_never():
    (bounds,) = set(compared([1_000, 1_000], [None, None]).bounds)
    assert bounds == (-inf, -1)


def test_the_sign_test_is_a_fair_coin():
    found = compared([1] * 7 + [9], [2] * 8)
    assert found.p == 2 * (comb(8, 7) + 1) / 256


@pytest.mark.parametrize(("n", "cut"), [(5, 0), (6, 1), (8, 1), (9, 2), (12, 3)])
def test_the_interval_cuts_as_many_ends_as_the_level_allows(n, cut):
    # As in printed tables of the sign test at 0.05, two-sided: 6 to 8 seeds 1, 9 to 11 2, 12 3.
    low, high = compared(range(1, n + 1), [0] * n).interval()
    assert (low, high) == ((cut, n + 1 - cut) if cut else (-inf, inf))


def test_the_interval_covers_the_median_in_at_least_95_percent():
    random, covered, censored = Random(0), 0, 0
    for _ in range(2_000):
        # Their steps are ours and 100 more in the median; whoever needs 600 is cut off.
        ours = [random.randint(100, 500) for _ in range(9)]
        theirs = [step + round(random.gauss(100.0, 80.0)) for step in ours]
        cut = [[None if s > 600 else max(0, s) for s in arm] for arm in (ours, theirs)]
        censored += None in cut[1]
        low, high = compared(*cut, horizon=600).interval()
        covered += low <= -100 <= high
    assert censored > 200
    assert 0.95 <= covered / 2_000 < 0.985  # nine seeds can promise 96.1 %


def test_equivalence_passes_exactly_when_the_90_percent_interval_lies_inside():
    random, passed = Random(1), 0
    for _ in range(300):
        n = random.randint(3, 12)
        ours = [random.choice([random.randint(80, 120), None]) for _ in range(n)]
        theirs = [s if s is None else s + random.randint(-14, 14) for s in ours]
        found = compared(ours, theirs)
        low, high = found.interval(0.9)
        inside = -12 < low <= high < 12
        assert inside == (found.same_p(12) <= 0.05)
        passed += inside
    assert 10 < passed < 290


@pytest.mark.bothways
def test_a_step_outside_the_training_is_refused():
    with pytest.raises(
        ValueError, match="'b' gets there at step 70 with seed 1, but horizon=50"
    ):
        compared([10, 20], [20, 70], horizon=50)
    with pytest.raises(ValueError, match=r"step -1 with seed 0, .* None says never"):
        compared([-1, 20], [20, 30])
    with pytest.raises(ValueError, match=r"level=95\.0 is no share of experiments; try 0\.95"):
        compared([1, 2], [2, 3]).interval(95.0)
    with pytest.raises(ValueError, match="horizon=0 is not a size"):
        compared([1, 2], [2, 3], horizon=0)
    with pytest.raises(ValueError, match="pairs need the same seeds"):
        compared([1, 2], [2, 3, 4])
    with pytest.raises(ValueError, match="margin=0 is no margin for the time to 95 %"):
        compared([1, 2], [2, 3]).same_p(0)
