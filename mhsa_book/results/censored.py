"""Steps to a goal that some seeds never reach, compared without inventing a number for them.

A seed that did not get there in ``horizon`` steps needs more, nobody knows how many: it is
censored. No mean can be taken of that. What is still known is who was first, and between which
numbers each difference lies. So p is that of the sign test, and the interval is that of the
median, made of the ordered differences; where it hangs on a censored seed, it has no end.

Seeds in which neither arm arrived say nothing about who is faster. They are counted, and left
out of everything else.

Source: Dixon and Mood, "The Statistical Sign Test", 1946; its interval, Thompson, "On
    Confidence Ranges for the Median", 1936.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from statistics import median

from mhsa_book.results.decimals import Number
from mhsa_book.results.paired import Measure, matched, positive_margin, share_of_experiments
from mhsa_lib import checks

STEPS = Measure("time to 95 %", "steps", better="lower")


@dataclass(frozen=True)
class PairedSteps:
    """Bounds (least, most) of first − second, one pair a seed; ``paired_steps`` makes one.

    ``reached`` counts the seeds of each arm that arrived, of ``seeds``; ``bounds`` leaves out
    those in which neither did.
    """

    first: str
    second: str
    measure: Measure
    seeds: tuple[int, ...]
    reached: tuple[int, int]
    bounds: tuple[tuple[float, float], ...]

    middle = "median"
    """What ``difference`` is."""

    @property
    def n(self) -> int:
        """Seeds in which at least one arm arrived."""
        return len(self.bounds)

    @property
    def difference(self) -> float:
        """Median difference; if only bounds are known, the one nearest to 0, or 0 itself."""
        least, most = self._median()
        return min(max(0.0, least), most)

    @property
    def at_least(self) -> bool:
        """Whether the median difference is known as a bound only."""
        least, most = self._median()
        return least != most

    @property
    def note(self) -> str:
        """How many seeds arrived, where not all did."""
        total = len(self.seeds)
        if self.reached == (total, total):
            return ""
        ours, theirs = self.reached
        return f"{self.first} got there in {ours}, {self.second} in {theirs} of {total} seeds"

    @property
    def p(self) -> float:
        """Two-sided p of the sign test; seeds with a tie say nothing and are left out.

        >>> paired_steps({"a": {0: 10, 1: 20, 2: 30}, "b": {0: 40, 1: None, 2: 30}}, 50).p
        0.5
        """
        from scipy import stats

        ahead = sum(most < 0 for _, most in self.bounds)
        behind = sum(least > 0 for least, _ in self.bounds)
        if not ahead + behind:
            return 1.0
        return float(stats.binomtest(ahead, ahead + behind).pvalue)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Ordered differences between which the median lies in that share of experiments.

        Infinite where they are bounds only, and with too few seeds for the level: six are
        needed for 95 %. ``ValueError`` for a level that is not between 0 and 1.
        """
        share_of_experiments(level)
        cut = 0  # so many may lie beyond each end
        while 2 * _at_least(self.n - cut, self.n) <= 1 - level:
            cut += 1
        if cut == 0:
            return -inf, inf
        least, most = (sorted(ends) for ends in zip(*self.bounds, strict=True))
        return least[cut - 1], most[-cut]

    def same_p(self, margin: Number) -> float:
        """P of two one-sided sign tests, for medians that differ by the margin or more.

        At 0.05 or less the 90 % interval lies inside ±margin, and else it does not.
        ``ValueError`` for a margin that is not above 0.
        """
        positive_margin(margin, self.measure)
        below = sum(most < margin for _, most in self.bounds)
        above = sum(least > -margin for least, _ in self.bounds)
        return _at_least(min(below, above), self.n)

    def _median(self) -> tuple[float, float]:
        if not self.bounds:
            return -inf, inf
        least, most = zip(*self.bounds, strict=True)
        return float(median(least)), float(median(most))


def paired_steps(
    arms: Mapping[str, Mapping[int, int | None]], horizon: int, measure: Measure = STEPS
) -> PairedSteps:
    """Who gets there first: steps by seed of two named arms, None where it was never reached.

    ``horizon`` is how many steps every seed was trained.

    Raises
    ------
    ValueError : unless there are two arms, of the same seeds, two at least, and no step lies
        outside 0 to ``horizon``

    Examples
    --------
    >>> found = paired_steps({"a": {0: 10, 1: 20}, "b": {0: 40, 1: None}}, horizon=50)
    >>> found.bounds, found.difference, found.reached
    (((-30.0, -30.0), (-inf, -31.0)), -30.5, (2, 1))
    """
    checks.positive(horizon=horizon)
    seeds = matched(arms)
    for name, steps in arms.items():
        for seed in seeds:
            step = steps[seed]
            if step is not None and not 0 <= step <= horizon:
                raise ValueError(
                    f"{name!r} gets there at step {step} with seed {seed}, but horizon="
                    f"{horizon}; steps lie between, and None says never."
                )
    (first, ours), (second, theirs) = arms.items()
    pairs = [(ours[seed], theirs[seed]) for seed in seeds]
    return PairedSteps(
        first,
        second,
        measure,
        seeds,
        (
            sum(our is not None for our, _ in pairs),
            sum(their is not None for _, their in pairs),
        ),
        tuple(_bounds(*pair, horizon) for pair in pairs if pair != (None, None)),
    )


def _bounds(our: int | None, their: int | None, horizon: int) -> tuple[float, float]:
    """Least and most that our − their can be; never is any step beyond the horizon."""
    (our_least, our_most), (their_least, their_most) = (
        (horizon + 1.0, inf) if step is None else (float(step), float(step))
        for step in (our, their)
    )
    return our_least - their_most, our_most - their_least


def _at_least(count: int, n: int) -> float:
    """Probability of so many heads or more in n throws of a fair coin."""
    from scipy import stats

    return float(stats.binom.sf(count - 1, n, 0.5))
