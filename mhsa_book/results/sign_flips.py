"""The sign-flip test: if two arms are alike, every difference could as well be its opposite.

Source: Fisher, "The Design of Experiments", 1935, section 21; for drawn flips Phipson and
    Smyth, "Permutation P-values Should Never Be Zero", 2010, arXiv 1603.05766.
"""

from collections.abc import Sequence
from math import lcm

import numpy as np

from mhsa_book.results.decimals import Number, decimal
from mhsa_lib import checks

EXACT = 16
"""Up to so many differences every choice of signs is tried, 2¹⁶ at most."""


def sign_flip_p(differences: Sequence[Number], *, draws: int = 9_999, seed: int = 0) -> float:
    """Share of sign choices whose mean is at least as far from 0 as the one that was found.

    Two-sided, and exact up to 16 differences: it is never below ``least_p``. Beyond that,
    ``draws`` choices are drawn from ``seed``, and the one that was found is counted with them.
    Ties are ties: the numbers are compared as decimals.

    Raises
    ------
    ValueError : without differences, for one that is not finite, for fewer than one draw

    Examples
    --------
    >>> sign_flip_p([1, 2, 3])  # ±6 of the sums ±6, ±4, ±2, 0, 0
    0.25
    >>> sign_flip_p([0.1] * 8) == 2 / 256 == least_p(8)
    True
    """
    from scipy import stats

    if not differences:
        raise ValueError("there are no differences, 0 in number; pass at least 1.")
    checks.positive(draws=draws)
    exact = [decimal(difference) for difference in differences]
    if len(exact) == 1:
        return 1.0  # one number is as far from 0 as its opposite; scipy asks for two
    scale = lcm(*(number.denominator for number in exact))
    found = stats.permutation_test(
        (np.array([int(number * scale) for number in exact], dtype=float),),
        lambda numbers, axis: abs(numbers.sum(axis=axis)),
        permutation_type="samples",
        vectorized=True,
        n_resamples=2 ** len(exact) if len(exact) <= EXACT else draws,
        alternative="greater",
        rng=seed,
    )
    return float(found.pvalue)


def least_p(n: int) -> float:
    """The smallest p that n differences can give when every sign is tried: all are alike.

    >>> least_p(5), least_p(8)
    (0.0625, 0.0078125)
    """
    checks.positive(n=n)
    return 2.0 ** (1 - n)
