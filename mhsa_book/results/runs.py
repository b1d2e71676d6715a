"""An experiment as it is kept: what was predicted, what was run, and every curve.

The rules a referee asks for are rules of this record: at least eight seeds, the same for every
arm; a learning rate that was tuned for each arm, on seeds that are not reported; a tolerance
and a level that were stated; an A/A arm that differs from its twin in nothing but chance; and
predictions with the commit that holds them, from before the runs.

A seed names what the arms share, as data and their order. The A/A arm carries its twin's seeds
and settings, and draws everything else anew.
"""

from dataclasses import dataclass, field, replace
from datetime import date as day
from math import isfinite
from typing import Any

from mhsa_book.results.censored import STEPS, PairedSteps, paired_steps
from mhsa_book.results.curves import SHARE, Curve, ending, final, steps_to
from mhsa_book.results.decimals import Number
from mhsa_book.results.paired import Measure, Paired, paired

LEAST_SEEDS = 8

Setting = str | int | float | bool | None


@dataclass(frozen=True)
class Arm:
    """One arm: how it was set up and tuned, and the curve of every seed.

    Parameters
    ----------
    settings : everything that was set, by name: sizes, steps, batch; text, numbers or booleans
    learning_rate : the rate that was used
    rates : those that were tried to find it
    tuned_on : seeds on which they were tried, none of which is reported
    curves : a curve for every seed

    Raises
    ------
    ValueError : for a rate that is not among those tried, no seed to tune on, a seed that was
        tuned on and is reported, fewer than eight seeds
    """

    settings: dict[str, Setting]
    learning_rate: Number
    rates: tuple[Number, ...]
    tuned_on: tuple[int, ...]
    curves: dict[int, Curve]

    def __post_init__(self) -> None:
        if self.learning_rate not in self.rates:
            raise ValueError(
                f"learning_rate={self.learning_rate} is not among the rates tried, "
                f"{list(self.rates)}; name all that were tried."
            )
        both = sorted(set(self.tuned_on) & self.curves.keys())
        if both or not self.tuned_on:
            raise ValueError(
                f"tuned_on={list(self.tuned_on)}, and seeds {both} of them are reported; tune "
                f"on at least one seed, and report others."
            )
        if len(self.curves) < LEAST_SEEDS:
            raise ValueError(
                f"{len(self.curves)} seeds, {sorted(self.curves)}; an arm is reported with at "
                f"least {LEAST_SEEDS}: run more."
            )


@dataclass(frozen=True, repr=False)
class Runs:
    """One experiment: arms by name, and what was fixed before any of them ran.

    Parameters
    ----------
    measure : what the curves show
    level : what counts as having learned it; ``steps`` asks for 95 % of that
    tolerance : how much a curve may still move on a plateau, in the unit of the measure
    arms : by name
    floor : the names of the A/A arms, one being the other again
    predictions : what was expected, in sentences
    predictions_commit : the commit that holds them, 40 hexadecimal digits
    date : of the runs, as in 2026-01-31
    machine : where and how long, as processor, threads, seconds, versions

    Raises
    ------
    ValueError : for arms of different seeds or steps, a floor that is not two of the arms with
        the same settings and rate, a tolerance or a level that is not above 0, no prediction,
        what is no commit or no date

    Examples
    --------
    >>> curve = Curve(tuple(range(1, 21)), (0.0,) * 5 + (1.0,) * 15)
    >>> arm = Arm({"n_heads": 2}, 0.01, (0.01, 0.03), (100,), {s: curve for s in range(8)})
    >>> runs = Runs("demo", "Do two heads help?", Measure("accuracy"), 1.0, 0.01,
    ...             {"two": arm, "two again": arm}, ("two", "two again"), ("They do.",),
    ...             "0" * 40, "2026-01-31")
    >>> runs
    demo: Do two heads help? 2 arms, 8 seeds, 2026-01-31
    >>> runs.final("two", "two again").difference, runs.steps("two", "two again").p
    (0.0, 1.0)
    """

    name: str
    question: str
    measure: Measure
    level: Number
    tolerance: Number
    arms: dict[str, Arm]
    floor: tuple[str, str]
    predictions: tuple[str, ...]
    predictions_commit: str
    date: str
    machine: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in (("level", self.level), ("tolerance", self.tolerance)):
            if not (isfinite(value) and value > 0):
                raise ValueError(f"{name}={value}; it must be finite and above 0.")
        self._same_seeds_and_steps()
        self._floor_is_a_twin()
        if not any(map(str.strip, self.predictions)):
            raise ValueError("predictions=() say nothing; write down what you expect, first.")
        commit = self.predictions_commit
        if len(commit) != 40 or set(commit) - set("0123456789abcdef"):
            raise ValueError(f"predictions_commit={commit!r} is none; give its 40 digits.")
        try:
            day.fromisoformat(self.date)
        except ValueError as error:
            raise ValueError(f"date={self.date!r} is no day; write 2026-01-31.") from error

    def __repr__(self) -> str:
        seeds = f"{len(self.arms)} arms, {len(self.seeds)} seeds, {self.date}"
        return f"{self.name}: {self.question} {seeds}"

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of every arm."""
        return tuple(sorted(next(iter(self.arms.values())).curves))

    @property
    def horizon(self) -> int:
        """The last step of every curve."""
        return next(iter(self._curves())).last

    def final(self, first: str, second: str) -> Paired:
        """Two arms by their final values; ``ValueError`` where a curve has not settled."""
        return paired({name: self.final_values(name) for name in (first, second)}, self.measure)

    def steps(self, first: str, second: str) -> PairedSteps:
        """Two arms by their steps to 95 % of the level, of which some may say never.

        Where lower is better, they are the steps down to level / 0.95, and are called so.
        """
        better = self.measure.better
        arms = {
            name: {
                seed: steps_to(curve, self.level, better=better)
                for seed, curve in self.arm(name).curves.items()
            }
            for name in (first, second)
        }
        return paired_steps(arms, self.horizon, self._arrival())

    def final_values(self, name: str) -> dict[int, float]:
        """The final value of every seed of an arm, if all of its curves have settled."""
        found = {}
        for seed, curve in self.arm(name).curves.items():
            try:
                found[seed] = final(curve, self.tolerance)
            except ValueError as error:
                raise ValueError(f"{name!r}, seed {seed}: {error}") from error
        return found

    def unsettled(self, name: str) -> list[int]:
        """Seeds of an arm whose curves have not settled, by the rule of ``curves``."""
        curves = self.arm(name).curves
        return [s for s, curve in curves.items() if not ending(curve).settled(self.tolerance)]

    def arm(self, name: str) -> Arm:
        """The arm of that name; ``ValueError`` lists those there are."""
        if name not in self.arms:
            raise ValueError(f"no arm is called {name!r}; there are: {', '.join(self.arms)}.")
        return self.arms[name]

    def _arrival(self) -> Measure:
        if self.measure.better == "higher":
            return STEPS
        return replace(STEPS, name=f"time to {self.level / SHARE:.3g} {self.measure.unit}")

    def _curves(self) -> list[Curve]:
        return [curve for arm in self.arms.values() for curve in arm.curves.values()]

    def _same_seeds_and_steps(self) -> None:
        seeds = {name: sorted(arm.curves) for name, arm in self.arms.items()}
        if len(set(map(tuple, seeds.values()))) != 1:
            raise ValueError(f"the arms have seeds {seeds}; run all with the same.")
        last = sorted({curve.last for curve in self._curves()})
        if len(last) != 1:
            raise ValueError(f"the curves end at steps {last}; train all for the same number.")

    def _floor_is_a_twin(self) -> None:
        first, second = map(self.arm, self.floor)
        alike = (first.settings, first.learning_rate) == (second.settings, second.learning_rate)
        if self.floor[0] == self.floor[1] or not alike:
            raise ValueError(
                f"floor={self.floor} are not an arm and its twin; name two arms of the same "
                f"settings and learning rate."
            )
