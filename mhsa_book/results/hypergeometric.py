"""How many marked things are drawn by chance, when some are drawn without putting back.

Several independent draws are added up, so that a few heads in each of a few models can say
together what none of them could alone.
"""

from collections.abc import Sequence
from math import comb

from mhsa_lib import checks


def drawn(n: int, marked: int, kept: int) -> tuple[float, ...]:
    """The chance that 0, 1, …, ``marked`` things are among ``kept`` of ``n``.

    Raises ``ValueError`` for more marked or kept than there are.

    >>> drawn(n=4, marked=2, kept=2) == (1 / 6, 4 / 6, 1 / 6)
    True
    """
    checks.positive(n=n)
    if not (0 <= marked <= n and 0 <= kept <= n):
        raise ValueError(
            f"marked={marked} and kept={kept} of n={n}; neither can be more, or < 0."
        )
    ways = [comb(marked, i) * comb(n - marked, kept - i) if i <= kept else 0
            for i in range(marked + 1)]  # fmt: skip
    return tuple(way / comb(n, kept) for way in ways)


def at_least(found: int, n: int, marked: Sequence[int], kept: int) -> float:
    """The chance of ``found`` or more marked things in all, one draw for each of ``marked``.

    >>> at_least(4, n=4, marked=[2, 2], kept=2) == 1 / 36
    True
    """
    total = [1.0]
    for each in marked:
        chances, new = drawn(n, each, kept), [0.0] * (len(total) + each)
        for i, before in enumerate(total):
            for j, chance in enumerate(chances):
                new[i + j] += before * chance
        total = new
    return min(1.0, sum(total[max(0, found) :], start=0.0))
