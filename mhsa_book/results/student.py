"""Student's t: how far the mean of a few normal numbers strays, in standard errors.

For whole degrees of freedom the distribution is a finite sum of cosines, so nothing is
approximated but the arithmetic.

Source: Student, "The probable error of a mean", Biometrika 6, 1908; the sums are 26.7.3 and
    26.7.4 of Abramowitz and Stegun, "Handbook of Mathematical Functions", 1964.
"""

from functools import cache
from math import atan, cos, pi, sin, sqrt

from mhsa_lib import checks


def inside(t: float, df: int) -> float:
    """Probability that T lies between −t and t; ``df`` are the degrees of freedom, n − 1.

    Raises ``ValueError`` without a degree of freedom.

    >>> inside(1.0, df=1)
    0.5
    >>> round(inside(2.365, df=7), 4)
    0.95
    """
    checks.positive(df=df)
    angle, odd = atan(abs(t) / sqrt(df)), df % 2
    term, total = cos(angle) ** odd, 0.0
    for i in range(df // 2):
        total += term
        term *= cos(angle) ** 2 * (2 * i + 1 + odd) / (2 * i + 2 + odd)
    total *= sin(angle)
    return 2 / pi * (angle + total) if odd else total


def above(t: float, df: int) -> float:
    """Probability that T is t or more, right to some fifteen decimals and never below 0.

    >>> above(0.0, df=3), above(-1.0, df=1)
    (0.5, 0.75)
    """
    tail = max(0.0, (1 - inside(t, df)) / 2)
    return tail if t >= 0 else 1 - tail


@cache
def quantile(probability: float, df: int) -> float:
    """The t below which T lies with that probability.

    Raises
    ------
    ValueError : for a probability that is not between 0 and 1; without a degree of freedom

    Examples
    --------
    >>> round(quantile(0.975, df=7), 3)
    2.365
    """
    if not 0 < probability < 1:
        raise ValueError(
            f"probability={probability} has no quantile; it must lie between 0 and 1, "
            f"both left out, for example 0.975."
        )
    if probability < 0.5:
        return -quantile(1 - probability, df)
    low, high = 0.0, 1.0
    while inside(high, df) < 2 * probability - 1:
        low, high = high, 2 * high
    for _ in range(64):
        middle = (low + high) / 2
        below = inside(middle, df) < 2 * probability - 1
        low, high = (middle, high) if below else (low, middle)
    return high if probability > 0.5 else 0.0
