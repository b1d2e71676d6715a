"""Student's t, against printed tables and against its density, summed up."""

from math import gamma, pi, sqrt
from statistics import NormalDist

import pytest

from mhsa_book.results.student import above, inside, quantile

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


@pytest.mark.parametrize("df", TABLE)
def test_quantiles_are_those_of_the_table(df):
    found = [round(quantile(p, df), 3) for p in (0.95, 0.975, 0.995)]
    assert found == list(TABLE[df])


def density(t, df):
    scale = gamma((df + 1) / 2) / gamma(df / 2) / sqrt(df * pi)
    return scale * (1 + t * t / df) ** (-(df + 1) / 2)


def simpson(t, df, n=2_000):
    heights = [density(-t + 2 * t * i / n, df) for i in range(n + 1)]
    weights = [1, *[4, 2] * (n // 2 - 1), 4, 1]
    return 2 * t / n / 3 * sum(w * h for w, h in zip(weights, heights, strict=True))


@pytest.mark.parametrize("df", [1, 2, 3, 6, 7, 24])
@pytest.mark.parametrize("t", [0.3, 1.0, 2.5])
def test_the_probability_is_the_area_under_the_density(t, df):
    assert inside(t, df) == pytest.approx(simpson(t, df), abs=1e-11)
    assert above(t, df) == pytest.approx((1 - simpson(t, df)) / 2, abs=1e-11)
    assert above(t, df) + above(-t, df) == pytest.approx(1)


@pytest.mark.parametrize("df", [1, 2, 7, 8, 63])
@pytest.mark.parametrize("p", [0.001, 0.3, 0.5, 0.9, 0.9995])
def test_the_quantile_undoes_the_probability(p, df):
    assert above(quantile(p, df), df) == pytest.approx(1 - p, abs=1e-13)


def test_with_many_degrees_of_freedom_it_is_the_normal_distribution():
    assert quantile(0.975, 100_000) == pytest.approx(NormalDist().inv_cdf(0.975), abs=1e-4)


def test_far_out_the_tail_is_small_and_never_negative():
    assert 0 <= above(1e9, 3) < 1e-15
    assert above(float("inf"), 7) == 0
    assert above(float("-inf"), 7) == 1


@pytest.mark.bothways
@pytest.mark.parametrize("probability", [0.0, 1.0, -0.5, float("nan")])
def test_what_is_no_probability_of_a_quantile_is_refused(probability):
    with pytest.raises(ValueError, match="has no quantile; it must lie between 0 and 1"):
        quantile(probability, 7)


@pytest.mark.bothways
def test_without_a_degree_of_freedom_there_is_no_t():
    with pytest.raises(ValueError, match="df=0 is not a size; it must be at least 1"):
        inside(1.0, 0)
