"""A training curve: whether it has settled, where it ends, and when it got there.

The rule for a plateau. Cut the training into four quarters of equally many steps. The curve
has settled, for a stated tolerance, when

1. the mean of the last quarter differs from that of the quarter before by no more than the
   tolerance, and
2. the straight line through the last quarter shows no trend beyond it: the 90 % interval of
   its change over the quarter lies within ±tolerance.

Both quarters need five evaluations. The second condition asks for proof: a curve so noisy that
a trend could hide in it has not been shown to be flat, and is refused like one that rises by
the tolerance or more, of which at most 5 % pass whatever the noise. A flat curve passes nearly
always if the noise of one evaluation is a tenth of the tolerance with 20 evaluations in all, a
fifth with 40, two fifths with 100. Evaluations count as independent around the line.

What the rule cannot see: a step that would come after the last one, and a learning rate that
has fallen to 0, which flattens every curve.
"""

from dataclasses import dataclass
from math import isfinite, sqrt
from statistics import fmean

from mhsa_book.results.decimals import Number, decimal
from mhsa_book.results.paired import BETTER
from mhsa_lib import checks

SHARE = 0.95
"""Of the level: what has come so far, and stays, has arrived."""
FEWEST = 5
"""Evaluations that a quarter needs."""


@dataclass(frozen=True)
class Curve:
    """Values of one measure by the step at which they were evaluated.

    Raises
    ------
    ValueError : unless there are as many steps as values, one at least, the steps rise from 0
        or more, and every value is finite

    Examples
    --------
    >>> Curve((0, 100, 200), (0.1, 0.8, 0.9)).last
    200
    """

    steps: tuple[int, ...]
    values: tuple[Number, ...]

    def __post_init__(self) -> None:
        if not self.steps or len(self.steps) != len(self.values):
            raise ValueError(
                f"{len(self.steps)} steps and {len(self.values)} values; a curve has as many "
                f"of both, at least one."
            )
        for before, step in zip((-1, *self.steps), self.steps, strict=False):
            if step <= before:
                raise ValueError(
                    f"step {step} follows step {before}; steps rise, from 0 on: sort them."
                )
        for step, value in zip(self.steps, self.values, strict=True):
            if not isfinite(value):
                raise ValueError(
                    f"the value at step {step} is {value}; a curve has finite ones: end it "
                    f"before, and say that the run failed."
                )

    @property
    def last(self) -> int:
        """The last step."""
        return self.steps[-1]

    def quarter(self, number: int) -> tuple[list[int], list[Number]]:
        """Steps and values of a quarter of the training, 1 to 4; its end belongs to it.

        >>> Curve((25, 50, 75, 100), (0.1, 0.2, 0.3, 0.4)).quarter(3)
        ([75], [0.3])
        """
        checks.positive(number=number)
        low, high = (number - 1) * self.last, number * self.last
        inside = [i for i, step in enumerate(self.steps) if low < 4 * step <= high]
        return [self.steps[i] for i in inside], [self.values[i] for i in inside]


@dataclass(frozen=True)
class Ending:
    """How a curve ends: ``mean`` of its last quarter, and what could still be moving.

    ``shift`` is that mean minus the mean of the quarter before; ``trend`` the 90 % interval of
    the change along the straight line through the last quarter. In the measure's unit.
    """

    mean: float
    shift: float
    trend: tuple[float, float]

    def settled(self, tolerance: Number) -> bool:
        """Whether the curve is on a plateau, by the rule above."""
        if not (isfinite(tolerance) and tolerance > 0):
            raise ValueError(
                f"tolerance={tolerance} would settle no curve or all; it must be finite and "
                f"above 0, in the unit of the measure."
            )
        return max(abs(self.shift), *map(abs, self.trend)) <= tolerance


def ending(curve: Curve) -> Ending:
    """The last quarter of a curve, beside the quarter before.

    Raises ``ValueError`` for fewer than five evaluations in either.

    >>> rising = Curve(tuple(range(0, 101, 5)), tuple(range(0, 101, 5)))
    >>> found = ending(rising)
    >>> found.mean, found.shift, found.settled(tolerance=10)
    (90.0, 25.0, False)
    """
    from scipy import stats

    (_, before), (steps, values) = curve.quarter(3), curve.quarter(4)
    if min(len(before), len(values)) < FEWEST:
        raise ValueError(
            f"the last two quarters hold {len(before)} and {len(values)} evaluations; a "
            f"plateau needs {FEWEST} in each: evaluate at least {4 * FEWEST} times, evenly."
        )
    mean, middle = fmean(values), fmean(steps)
    apart = [step - middle for step in steps]
    spread = sum(x * x for x in apart)
    slope = sum(x * y for x, y in zip(apart, values, strict=True)) / spread
    left = [y - mean - slope * x for x, y in zip(apart, values, strict=True)]
    df = len(values) - 2
    error = sqrt(sum(y * y for y in left) / df / spread)
    length, reach = curve.last / 4, float(stats.t.ppf(0.95, df)) * error
    trend = ((slope - reach) * length, (slope + reach) * length)
    return Ending(mean, mean - fmean(before), trend)


def final(curve: Curve, tolerance: Number) -> float:
    """Final value: the mean of the last quarter of a curve that has settled.

    Raises ``ValueError`` for a curve that has not, with what still moves.

    >>> final(Curve(tuple(range(1, 21)), (0.0,) * 10 + (0.75,) * 10), tolerance=0.01)
    0.75
    """
    found = ending(curve)
    if not found.settled(tolerance):
        low, high = found.trend
        raise ValueError(
            f"the curve has not settled within tolerance={tolerance}: its last quarter differs "
            f"from the one before by {found.shift:.3g}, and its trend there lies between "
            f"{low:.3g} and {high:.3g}; train longer, or, if that is noise, evaluate more "
            f"often or on more."
        )
    return found.mean


def steps_to(
    curve: Curve, level: Number, *, share: Number = SHARE, better: str = "higher"
) -> int | None:
    """First evaluated step from which the curve stays at ``share`` of ``level``; None if never.

    Where lower is better it stays at or below ``level / share``. A curve that got there and
    fell back has not arrived, so a single lucky evaluation counts for nothing unless it is the
    last.

    Raises
    ------
    ValueError : for a level that is not finite and above 0, a share outside 0 to 1, an unknown
        direction

    Examples
    --------
    >>> curve = Curve((0, 10, 20, 30), (0.1, 0.96, 0.9, 0.97))
    >>> steps_to(curve, level=1.0), steps_to(curve, level=1.1)
    (30, None)
    """
    if better not in BETTER:
        raise ValueError(f"better={better!r} is unknown; say {' or '.join(BETTER)}.")
    if not (isfinite(level) and level > 0 and 0 < share <= 1):
        raise ValueError(
            f"level={level} and share={share}; a share of a level is asked for, so the level "
            f"is finite and above 0, the share above 0 and at most 1."
        )
    whole, part = decimal(level), decimal(share)
    goal, sign = (part * whole, 1) if better == "higher" else (whole / part, -1)
    arrived = None
    for step, value in zip(reversed(curve.steps), reversed(curve.values), strict=True):
        if sign * (decimal(value) - goal) < 0:
            break
        arrived = step
    return arrived
