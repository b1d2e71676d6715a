"""Measured numbers as exact decimals, so that equal differences are equal.

0.3 − 0.2 and 0.2 − 0.1 differ in the seventeenth digit of a float; as decimals they do not.
"""

from fractions import Fraction
from math import isfinite

Number = float | int


def decimal(number: Number) -> Fraction:
    """A finite number to twelve significant digits, exact from there on.

    Raises
    ------
    ValueError : for what is infinite or not a number

    Examples
    --------
    >>> 0.3 - 0.2 == 0.2 - 0.1
    False
    >>> decimal(0.3) - decimal(0.2) == decimal(0.2) - decimal(0.1)
    True
    """
    if not isfinite(number):
        raise ValueError(f"{number} is no measured number; pass finite ones.")
    return Fraction(f"{number:.12g}")
