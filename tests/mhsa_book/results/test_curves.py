"""Curves: which have settled, where they end, when they got there."""

from math import exp, inf, nan
from random import Random

import pytest

from mhsa_book.results.curves import Curve, ending, final, steps_to

EVERY_10 = tuple(range(10, 1_001, 10))


def curve(shape, noise=0.0, seed=0):
    """A hundred evaluations of a function of the part of the training that is over."""
    random = Random(seed)
    return Curve(EVERY_10, tuple(shape(i / 1_000) + random.gauss(0, noise) for i in EVERY_10))


def step_at(part):
    return lambda x: 0.1 if x < part else 1.0


SETTLED = {
    "flat": lambda x: 0.7,
    "fast at first": lambda x: 1 - exp(-20 * x),
    "a step in the first half": step_at(0.4),
    "a step that would come later": step_at(1.5),
}
MOVING = {
    "rises": lambda x: x,
    "falls": lambda x: -x,
    "still rises": lambda x: 1 - exp(-3 * x),
    "a step in the third quarter": step_at(0.6),
    "a step in the last quarter": step_at(0.9),
    "a step at the last evaluation": step_at(0.999),
    "a dip, and back": lambda x: 0.5 - 2 * abs(x - 0.75) if x > 0.5 else 0.0,
    "starts to rise in the last quarter": lambda x: max(0.0, x - 0.75) / 2,
    # Equal means of both quarters, and a slope in the last: only the trend tells.
    "rises back to its mean": lambda x: 0.5 + (0.4 * (x - 0.88) if x > 0.75 else 0.0),
}


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("name", SETTLED)
def test_a_curve_that_has_settled_has_a_final_value(name, noise):
    found = curve(SETTLED[name], noise)
    assert ending(found).settled(0.05)
    assert final(found, 0.05) == pytest.approx(SETTLED[name](1.0), abs=0.01)


@pytest.mark.bothways
@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("name", MOVING)
def test_a_curve_that_moves_is_refused(name, noise):
    found = curve(MOVING[name], noise)
    assert not ending(found).settled(0.05)
    with pytest.raises(
        ValueError, match=r"not settled within tolerance=0\.05: .* train longer"
    ):
        final(found, 0.05)


def test_rising_by_the_tolerance_passes_in_5_percent_whatever_the_noise():
    for noise in (0.1, 0.4, 0.8):
        passed = sum(
            ending(curve(lambda x: 4 * x, noise, seed)).settled(1.0) for seed in range(300)
        )
        assert passed / 300 < 0.08


def test_a_flat_curve_passes_where_the_noise_is_two_fifths_of_the_tolerance():
    flat = [ending(curve(lambda x: 0.0, 0.4, seed)).settled(1.0) for seed in range(300)]
    assert sum(flat) / 300 > 0.85


@pytest.mark.bothways
def test_noise_that_could_hide_a_trend_is_refused():
    noisy = curve(lambda x: 0.5, noise=0.2)
    assert abs(ending(noisy).shift) < 0.05  # the means agree
    with pytest.raises(ValueError, match=r"or, if that is noise, evaluate more often"):
        final(noisy, 0.05)


def test_the_ending_of_a_straight_line_by_hand():
    found = ending(Curve(EVERY_10, EVERY_10))
    assert found.mean == 880  # of 760 to 1000
    assert found.shift == 250
    assert found.trend == pytest.approx((250, 250))
    assert found.settled(251)
    assert not found.settled(249)


def test_the_trend_is_a_90_percent_interval():
    covered = 0
    for seed in range(2_000):
        low, high = ending(curve(lambda x: 2 * x, noise=1.0, seed=seed)).trend
        covered += low <= 0.5 <= high  # a quarter of the training
    assert abs(covered / 2_000 - 0.9) < 3 * (0.9 * 0.1 / 2_000) ** 0.5


def test_a_quarter_ends_with_its_last_step():
    steps = Curve((0, 25, 26, 50, 75, 100), (0,) * 6)
    assert [steps.quarter(i)[0] for i in (1, 2, 3, 4)] == [[25], [26, 50], [75], [100]]


@pytest.mark.bothways
def test_few_evaluations_are_refused():
    few = Curve(tuple(range(1, 17)), (0.5,) * 16)
    with pytest.raises(ValueError, match="hold 4 and 4 evaluations; a plateau needs 5 in each"):
        ending(few)
    late = Curve((*range(100), 1_000), (0.5,) * 101)
    with pytest.raises(ValueError, match="hold 0 and 1 evaluations"):
        ending(late)


@pytest.mark.bothways
@pytest.mark.parametrize("tolerance", [0.0, -1.0, nan, inf])
def test_what_is_no_tolerance_is_refused(tolerance):
    with pytest.raises(ValueError, match=f"tolerance={tolerance} would settle no curve or all"):
        ending(curve(lambda x: x)).settled(tolerance)


def test_the_first_step_from_which_it_stays():
    steps = (10, 20, 30, 40)
    assert steps_to(Curve(steps, (0.1, 0.95, 0.96, 1.0)), 1.0) == 20
    assert steps_to(Curve(steps, (0.1, 0.95, 0.94, 1.0)), 1.0) == 40
    assert steps_to(Curve(steps, (0.1, 0.99, 0.99, 0.9)), 1.0) is None
    assert steps_to(Curve(steps, (1, 1, 1, 1)), 1.0) == 10
    assert steps_to(Curve(steps, (0.1, 0.4, 0.5, 0.6)), 0.8, share=0.5) == 20


def test_a_share_of_a_level_is_met_as_a_decimal():
    assert 0.9 * 0.8 > 0.72
    assert steps_to(Curve((1,), (0.72,)), level=0.8, share=0.9) == 1


def test_where_lower_is_better_it_stays_below():
    falling = Curve((10, 20, 30, 40), (9.0, 2.0, 2.2, 2.1))
    assert steps_to(falling, 2.0, better="lower") == 40  # 2 / 0.95 is 2.105…
    assert steps_to(falling, 2.0, share=0.8, better="lower") == 20
    assert steps_to(falling, 1.0, better="lower") is None


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("level", "share"),
    [(0.0, 0.95), (-1.0, 0.95), (nan, 0.95), (inf, 0.95), (1.0, 0.0), (1.0, 1.5)],
)
def test_a_level_or_share_that_is_none_is_refused(level, share):
    with pytest.raises(
        ValueError, match=f"level={level} and share={share}; a share of a level"
    ):
        steps_to(Curve((1,), (0.5,)), level, share=share)


@pytest.mark.bothways
def test_an_unknown_direction_is_refused():
    with pytest.raises(ValueError, match="better='more' is unknown; say higher or lower"):
        steps_to(Curve((1,), (0.5,)), 1.0, better="more")


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("steps", "values", "words"),
    [
        ((), (), "0 steps and 0 values; a curve has as many of both, at least one"),
        ((1, 2), (0.5,), "2 steps and 1 values"),
        ((1, 3, 3), (0.1, 0.2, 0.3), "step 3 follows step 3; steps rise, from 0 on: sort them"),
        ((-5, 3), (0.1, 0.2), "step -5 follows step -1"),
        ((1, 2), (0.1, nan), "the value at step 2 is nan; a curve has finite ones: end it"),
    ],
)
def test_what_is_no_curve_is_refused(steps, values, words):
    with pytest.raises(ValueError, match=words):
        Curve(steps, values)
