"""How many marked things are drawn by chance, when some are drawn without putting back.

Several independent draws are added up, so that a few heads in each of a few models can say
together what none of them could alone.
"""

from collections.abc import Sequence
from functools import reduce

import numpy as np

from mhsa_lib import checks


def chances(n: int, marked: int, kept: int) -> list[float]:
    """The chance that 0, 1, …, ``marked`` things are among ``kept`` of ``n``.

    Raises ``ValueError`` for more marked or kept than there are.

    >>> [round(chance, 3) for chance in chances(n=4, marked=2, kept=2)]
    [0.167, 0.667, 0.167]
    """
    from scipy import stats

    checks.positive(n=n)
    if not (0 <= marked <= n and 0 <= kept <= n):
        raise ValueError(
            f"marked={marked} and kept={kept} of n={n}; neither can be more, or < 0."
        )
    found: list[float] = stats.hypergeom.pmf(range(marked + 1), n, marked, kept).tolist()
    return found


def at_least(found: int, n: int, marked: Sequence[int], kept: int) -> float:
    """The chance of ``found`` or more marked things in all, one draw for each of ``marked``.

    >>> round(1 / at_least(4, n=4, marked=[2, 2], kept=2), 6)
    36.0
    """
    total = reduce(np.convolve, [chances(n, each, kept) for each in marked], np.ones(1))
    return min(1.0, float(total[max(0, found) :].sum()))
