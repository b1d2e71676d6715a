"""Holm's correction: with many comparisons, one of them is small by chance.

Source: Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal
    of Statistics 6, 1979.
"""

from collections.abc import Sequence

from mhsa_book.results.sign_flips import least_p
from mhsa_lib import checks


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Each p as if it were the only one: the smallest times m, the next times m − 1, …

    At most 1, and never below that of a smaller p. Calling different whatever is 0.05 or less
    then errs, in the whole family, in 5 % of experiments at most.

    Raises
    ------
    ValueError : for what is not between 0 and 1

    Examples
    --------
    >>> holm([0.04, 0.01, 0.03])
    (0.06, 0.03, 0.06)
    """
    for p in p_values:
        if not 0 <= p <= 1:
            raise ValueError(f"p={p} is no probability; pass numbers from 0 to 1.")
    corrected, largest = [0.0] * len(p_values), 0.0
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[i]))
        corrected[i] = largest
    return tuple(corrected)


def seeds_needed(comparisons: int, alpha: float = 0.05) -> int:
    """Fewest seeds with which the clearest of so many comparisons can pass at ``alpha``.

    Eight seeds can give p = 2/256, and six times that is below 0.05; seven times is above, and
    then no result whatever tells any two arms apart. Count before the runs.

    >>> [seeds_needed(m) for m in (1, 6, 7, 12)]
    [6, 8, 9, 9]
    """
    checks.positive(comparisons=comparisons)
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha} is no level of a test; it lies between 0 and 1.")
    n = 1
    while comparisons * least_p(n) > alpha:
        n += 1
    return n
