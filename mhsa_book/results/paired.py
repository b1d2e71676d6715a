"""Two arms of an experiment, compared seed by seed.

What two runs share, their data and whatever else the seed decides, falls out of their
difference. Student's t makes the interval and the test of equivalence, the sign flips make p.

Where every difference is the same number, t has no spread to work with and would claim to be
certain. The sign flips, which assume less (differences that are symmetric, not normal), then
take its place everywhere: the interval is that number alone if so many equal signs are rare
enough, and unbounded if they are not.

Source: pairing and the noise between seeds, Bouthillier et al., "Accounting for Variance in
    Machine Learning Benchmarks", 2021, arXiv 2103.03098; two one-sided tests, Schuirmann,
    "A Comparison of the Two One-Sided Tests Procedure …", 1987.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite, sqrt
from typing import Any

from mhsa_book.results.decimals import Number, decimal
from mhsa_book.results.sign_flips import sign_flip_p

BETTER = ("higher", "lower")


@dataclass(frozen=True)
class Measure:
    """What was measured: its name, its unit, and which way is better, higher or lower.

    >>> Measure("loss", "nats", better="lower")
    Measure(name='loss', unit='nats', better='lower')
    """

    name: str
    unit: str = ""
    better: str = "higher"

    def __post_init__(self) -> None:
        if self.better not in BETTER:
            raise ValueError(f"better={self.better!r} is unknown; say {' or '.join(BETTER)}.")


@dataclass(frozen=True)
class Paired:
    """Differences first − second, a seed each, in the measure's unit; ``paired`` makes one."""

    first: str
    second: str
    measure: Measure
    seeds: tuple[int, ...]
    differences: tuple[float, ...]

    middle = "mean"
    """What ``difference`` is."""
    at_least = False
    """Whether it is known as a bound only."""

    @property
    def n(self) -> int:
        """Pairs, which are seeds."""
        return len(self.differences)

    @property
    def difference(self) -> float:
        """Mean difference, first − second."""
        return float(sum(map(decimal, self.differences)) / self.n)

    @property
    def error(self) -> float:
        """Standard error of the mean difference; 0 if all differences are the same."""
        exact = [decimal(difference) for difference in self.differences]
        mean = sum(exact) / self.n
        return sqrt(sum((number - mean) ** 2 for number in exact) / (self.n - 1) / self.n)

    @property
    def constant(self) -> bool:
        """Whether every seed gives the same difference, to twelve digits."""
        return len(set(map(decimal, self.differences))) == 1

    @property
    def note(self) -> str:
        """What a reader has to know besides: that there was no spread."""
        return "it is the same for every seed, so that no spread is known" * self.constant

    @cached_property
    def p(self) -> float:
        """Two-sided p of the sign flips, for arms that do not differ."""
        return sign_flip_p(self.differences)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Ends of the interval that holds the true difference in that share of experiments.

        >>> values = {"a": {0: 1.0, 1: 2.0, 2: 3.5}, "b": {0: 0.5, 1: 1.0, 2: 2.0}}
        >>> low, high = paired(values).interval()
        >>> round(low, 3), round(high, 3)
        (-0.242, 2.242)
        """
        from scipy import stats

        share_of_experiments(level)
        reach = float(stats.t.ppf((1 + level) / 2, self.n - 1)) * self.error
        if self.constant:
            reach = 0.0 if 2.0 ** (1 - self.n) <= 1 - level else inf
        return self.difference - reach, self.difference + reach

    def same_p(self, margin: Number) -> float:
        """P of two one-sided tests, for arms that differ by the margin or more.

        At 0.05 or less the true difference is within ±margin, and at exactly these p the 90 %
        interval lies inside. ``ValueError`` for a margin that is not above 0.

        >>> values = {"a": {0: 1.00, 1: 2.01, 2: 3.00}, "b": {0: 1.01, 1: 2.00, 2: 3.00}}
        >>> found = paired(values)
        >>> found.same_p(0.1) < 0.05, found.same_p(0.01) < 0.05
        (True, False)
        """
        from scipy import stats

        positive_margin(margin, self.measure)
        room = margin - abs(self.difference)
        if self.constant:
            return 2.0**-self.n if room > 0 else 1.0
        return float(stats.t.sf(room / self.error, self.n - 1))


def paired(
    arms: Mapping[str, Mapping[int, Number]], measure: Measure = Measure("value")
) -> Paired:
    """The differences of two arms, each given by name as a number for every seed.

    Raises
    ------
    ValueError : unless there are two arms, of the same seeds, two at least, and every number
        is finite

    Examples
    --------
    >>> found = paired({"wide": {0: 0.75, 1: 1.0}, "thin": {0: 0.5, 1: 0.5}})
    >>> found.n, found.difference, found.p
    (2, 0.375, 0.5)
    """
    seeds = matched(arms)
    for name, numbers in arms.items():
        for seed in seeds:
            if not isfinite(numbers[seed]):
                raise ValueError(
                    f"the {measure.name} of {name!r} is {numbers[seed]} for seed {seed}; a "
                    f"mean takes finite numbers: count seeds that failed, and say how many."
                )
    (first, ours), (second, theirs) = arms.items()
    exact = [(decimal(ours[seed]), decimal(theirs[seed])) for seed in seeds]
    differences = tuple(float(our - their) for our, their in exact)
    return Paired(first, second, measure, seeds, differences)


def matched(arms: Mapping[str, Mapping[int, Any]]) -> tuple[int, ...]:
    """The seeds that two arms share; ``ValueError`` unless they share all, and two at least.

    >>> matched({"a": {0: 0.5, 1: 0.25}, "b": {1: 0.5, 2: 0.5}})
    Traceback (most recent call last):
    ...
    ValueError: only 'a' has seeds [0], only 'b' has [2]; pairs need the same seeds: run ...
    """
    if len(arms) != 2:
        raise ValueError(f"{len(arms)} arms, {list(arms)}; a comparison takes exactly 2.")
    (first, ours), (second, theirs) = arms.items()
    if ours.keys() != theirs.keys():
        raise ValueError(
            f"only {first!r} has seeds {sorted(ours.keys() - theirs.keys())}, only {second!r} "
            f"has {sorted(theirs.keys() - ours.keys())}; pairs need the same seeds: run both "
            f"arms with them, or leave them out of both."
        )
    if len(ours) < 2:
        raise ValueError(
            f"{first!r} and {second!r} share {len(ours)} seeds, {sorted(ours)}; an interval "
            f"takes at least 2: run more."
        )
    return tuple(sorted(ours))


def share_of_experiments(level: float) -> None:
    """A level of confidence is a share between 0 and 1, both left out.

    >>> share_of_experiments(95.0)
    Traceback (most recent call last):
    ...
    ValueError: level=95.0 is no share of experiments; try 0.95.
    """
    if not 0 < level < 1:
        raise ValueError(f"level={level} is no share of experiments; try 0.95.")


def positive_margin(margin: Number, measure: Measure) -> None:
    """A margin is a finite number above 0, in the unit of the measure.

    >>> positive_margin(-1.0, Measure("loss", "nats"))
    Traceback (most recent call last):
    ...
    ValueError: margin=-1.0 is no margin for the loss; it must be finite and above 0 (nats): ...
    """
    if not (isfinite(margin) and margin > 0):
        unit = f" ({measure.unit})" if measure.unit else ""
        raise ValueError(
            f"margin={margin} is no margin for the {measure.name}; it must be finite and above "
            f"0{unit}: the largest difference that would not matter."
        )
