"""Two arms, seed by seed: the numbers, what they promise, and what is refused."""

from math import gamma, inf, nan, pi, sqrt
from random import Random

import pytest

from mhsa_book.results.paired import Measure, Paired, paired

# Printed in every textbook: degrees of freedom, then the quantiles of 0.95, 0.975 and 0.995.
TABLE = {
    1: (6.314, 12.706, 63.657),
    2: (2.920, 4.303, 9.925),
    3: (2.353, 3.182, 5.841),
    4: (2.132, 2.776, 4.604),
    5: (2.015, 2.571, 4.032),
    7: (1.895, 2.365, 3.499),
    10: (1.812, 2.228, 3.169),
    15: (1.753, 2.131, 2.947),
    30: (1.697, 2.042, 2.750),
    120: (1.658, 1.980, 2.617),
}

LOSS = Measure("loss", "nats", better="lower")


def made(*differences):
    """A comparison with these differences, seeds from 0."""
    return Paired("a", "b", LOSS, tuple(range(len(differences))), differences)


def drawn(random, mean, n=8, noise=1.0):
    return made(*(random.gauss(mean, noise) for _ in range(n)))


def test_a_case_done_by_hand():
    arms = {"a": {3: 2.0, 1: 1.0, 2: 4.0}, "b": {1: 0.0, 2: 1.0, 3: 0.0}}
    found = paired(arms, LOSS)
    assert (found.first, found.second, found.measure, found.n) == ("a", "b", LOSS, 3)
    assert found.seeds == (1, 2, 3)
    assert found.differences == (1.0, 3.0, 2.0)
    assert found.difference == 2
    assert found.error == pytest.approx(1 / sqrt(3))  # variance (1 + 1 + 0) / 2
    reach = 4.303 / sqrt(3)  # t of 0.975 with 2 degrees of freedom
    assert found.interval() == pytest.approx((2 - reach, 2 + reach), abs=1e-3)
    assert found.p == 2 / 8


def spread(n):
    """Differences with mean 0 and a standard error of 1."""
    ends = sqrt(n * (n - 1) / 2)
    return made(ends, -ends, *[0.0] * (n - 2))


@pytest.mark.parametrize("df", TABLE)
def test_the_ends_of_the_interval_are_those_of_the_table(df):
    found = spread(df + 1)
    assert found.error == pytest.approx(1)
    ends = [found.interval(level)[1] for level in (0.9, 0.95, 0.99)]
    assert ends == pytest.approx(TABLE[df], abs=6e-4)


def density(t, df):
    scale = gamma((df + 1) / 2) / gamma(df / 2) / sqrt(df * pi)
    return scale * (1 + t * t / df) ** (-(df + 1) / 2)


def simpson(t, df, n=2_000):
    heights = [density(-t + 2 * t * i / n, df) for i in range(n + 1)]
    weights = [1, *[4, 2] * (n // 2 - 1), 4, 1]
    return 2 * t / n / 3 * sum(w * h for w, h in zip(weights, heights, strict=True))


@pytest.mark.parametrize("df", [1, 2, 3, 6, 7, 24])
@pytest.mark.parametrize("t", [0.3, 1.0, 2.5])
def test_the_p_of_equivalence_is_the_area_under_the_density(t, df):
    assert spread(df + 1).same_p(t) == pytest.approx((1 - simpson(t, df)) / 2, abs=1e-9)


def test_swapping_the_arms_turns_the_sign():
    ours, theirs = {0: 0.5, 1: 0.9, 2: 0.7}, {0: 0.4, 1: 0.95, 2: 0.2}
    one, other = paired({"a": ours, "b": theirs}), paired({"b": theirs, "a": ours})
    assert one.difference == -other.difference > 0
    assert one.interval() == tuple(-end for end in reversed(other.interval()))
    assert one.p == other.p
    assert one.same_p(0.5) == other.same_p(0.5)


def test_the_interval_covers_the_truth_in_95_percent_of_experiments():
    random, covered = Random(0), 0
    for _ in range(2_000):
        low, high = drawn(random, mean=0.3).interval()
        covered += low <= 0.3 <= high
    assert abs(covered / 2_000 - 0.95) < 3 * sqrt(0.95 * 0.05 / 2_000)


@pytest.mark.parametrize("side", [1, -1])
def test_at_the_margin_equivalence_is_claimed_in_5_percent(side):
    random, claimed = Random(1), 0
    for _ in range(2_000):
        claimed += drawn(random, mean=side * 5.0).same_p(5.0) <= 0.05
    assert abs(claimed / 2_000 - 0.05) < 3 * sqrt(0.95 * 0.05 / 2_000)


def test_well_inside_the_margin_equivalence_is_nearly_always_claimed():
    random = Random(2)
    assert all(drawn(random, mean=0.0).same_p(5.0) <= 0.05 for _ in range(200))


def test_both_tests_pass_exactly_when_the_90_percent_interval_lies_inside():
    random, passed = Random(3), 0
    for _ in range(300):
        found = drawn(random, mean=random.uniform(-1, 1), n=random.randint(2, 12))
        low, high = found.interval(0.9)
        inside = -1 < low <= high < 1
        assert inside == (found.same_p(1.0) <= 0.05)
        passed += inside
    assert 20 < passed < 280


@pytest.mark.parametrize("n", range(2, 10))
@pytest.mark.parametrize("value", [0.0, 0.1])
def test_without_spread_the_sign_flips_take_the_place_of_t(value, n):
    found = made(*[value] * n)
    assert found.constant
    assert found.error == 0
    assert found.note == "it is the same for every seed, so that no spread is known"
    known = 2 / 2**n <= 0.05
    assert found.interval() == ((value, value) if known else (-inf, inf))
    assert found.p == (2 / 2**n if value else 1)
    assert found.same_p(0.2) == 1 / 2**n
    assert found.same_p(0.2) <= 0.05 or not known
    low, high = found.interval(0.9)
    assert (found.same_p(0.2) <= 0.05) == (-0.2 < low <= high < 0.2)
    assert found.same_p(0.05) == (1 if value else 1 / 2**n)  # outside the margin
    assert found.same_p(0.1) == (1 if value else 1 / 2**n)  # at the margin is not within


def test_differences_that_are_equal_as_decimals_have_no_spread():
    tenths = range(1, 9)
    arms = {"a": {i: (i + 1) / 10 for i in tenths}, "b": {i: i / 10 for i in tenths}}
    assert len({arms["a"][i] - arms["b"][i] for i in tenths}) > 1
    found = paired(arms)
    assert found.constant
    assert found.differences == (0.1,) * 8
    assert found.p == 2 / 256


def test_spread_has_no_note():
    assert made(0.1, 0.2).note == ""


FIVE = {seed: 0.5 for seed in range(5)}


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("arms", "words"),
    [
        ({"a": FIVE}, r"1 arms, \['a'\]; a comparison takes exactly 2"),
        ({"a": FIVE, "b": FIVE, "c": FIVE}, r"3 arms, .*; a comparison takes exactly 2"),
        (
            {"a": FIVE, "b": FIVE | {7: 0.5}},
            r"only 'a' has seeds \[\], only 'b' has \[7\]; pairs need the same seeds: run both",
        ),
        (
            {"a": {3: 0.5}, "b": {3: 0.7}},
            r"'a' and 'b' share 1 seeds, \[3\]; an interval takes at least 2: run more",
        ),
        ({"a": {}, "b": {}}, r"share 0 seeds, \[\]; an interval takes at least 2"),
        (
            {"a": FIVE, "b": FIVE | {2: nan}},
            "the loss of 'b' is nan for seed 2; a mean takes finite numbers: count seeds that",
        ),
        ({"a": FIVE | {4: inf}, "b": FIVE}, "the loss of 'a' is inf for seed 4"),
    ],
)
def test_what_makes_no_pairs_is_refused(arms, words):
    with pytest.raises(ValueError, match=words):
        paired(arms, LOSS)


@pytest.mark.bothways
@pytest.mark.parametrize("margin", [0.0, -0.1, inf, nan])
def test_what_is_no_margin_is_refused(margin):
    words = rf"margin={margin} is no margin for the loss; .* above 0 \(nats\): the largest"
    with pytest.raises(ValueError, match=words):
        made(0.1, 0.2).same_p(margin)


@pytest.mark.bothways
def test_a_level_that_is_a_percentage_is_refused():
    with pytest.raises(ValueError, match=r"level=95\.0 is no share of experiments"):
        made(0.1, 0.2).interval(95.0)


@pytest.mark.bothways
def test_a_direction_that_is_none_is_refused():
    with pytest.raises(ValueError, match="better='up' is unknown; say higher or lower"):
        Measure("loss", better="up")
