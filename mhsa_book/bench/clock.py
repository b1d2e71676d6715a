"""Time side by side: everybody once a round, in random order, while nobody else computes.

One round runs every implementation as a block of at least four milliseconds. A ratio compares
two blocks of the same round, so that what slows a whole round slows both. Rounds during which
other programs used the machine are thrown away and counted.
"""

import math
import os
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BLOCK = 0.004
"""Seconds that a block lasts at least."""

FOREIGN = 0.06
"""Share of the machine that other programs may use during a round."""

WATCHED = 0.4
"""Seconds over which the share is taken: the kernel counts in hundredths of a second."""

PATIENCE = 2.0
"""Time thrown away, in budgets of the cell, before it is given up as contaminated."""

LEAST_BAND = 0.03


@dataclass(frozen=True)
class Entrant:
    """One implementation: ``call`` does the work; ``reset`` goes before a block, untimed."""

    call: Callable[[], Any]
    reset: Callable[[], Any] | None = None
    most: int = 100_000


def busy() -> tuple[float, float] | None:
    """CPU seconds that the whole machine and this process have used; None where not told."""
    try:
        first = Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()[1:9]
    except OSError:
        return None
    user, nice, system, _, _, irq, softirq, steal = map(int, first)
    used = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    own = os.times()
    return used, own.user + own.system


@dataclass
class Clock:
    """The clock of the CPU, and the watch over who else uses it. Tests bring their own."""

    now: Callable[[], float] = time.perf_counter
    busy: Callable[[], tuple[float, float] | None] = busy
    sleep: Callable[[float], None] = time.sleep
    cores: int = field(default_factory=lambda: os.cpu_count() or 1)

    def block(self, entrant: Entrant, n: int) -> float:
        """Seconds per call over ``n`` calls."""
        if entrant.reset is not None:
            entrant.reset()
        start = self.now()
        for _ in range(n):
            entrant.call()
        return (self.now() - start) / n

    def foreign(self, before: tuple[float, float] | None, seconds: float) -> float:
        """Share of the machine that others used since ``before``; 0 where nobody can tell."""
        after = self.busy()
        if before is None or after is None or seconds <= 0:
            return 0.0
        others = (after[0] - before[0]) - (after[1] - before[1])
        return max(0.0, others / (seconds * self.cores))


@dataclass
class Times:
    """Seconds per call, by name and round; None where an implementation rested."""

    rounds: list[dict[str, float]] = field(default_factory=list)
    thrown: int = 0
    contaminated: bool = False

    def ratios(self, name: str, of: str) -> list[float]:
        """Time relative to another's, in every round that both ran."""
        return [r[name] / r[of] for r in self.rounds if name in r and of in r]

    def median(self, name: str) -> float:
        """Median seconds per call."""
        return statistics.median(r[name] for r in self.rounds if name in r)


def race(
    entrants: Mapping[str, Entrant],
    *,
    rounds: int,
    seconds: float,
    clock: Clock,
    never_rest: tuple[str, ...] = (),
    seed: int = 0,
) -> Times:
    """Time all entrants for at least ``rounds`` rounds, and on until ``seconds`` are used.

    In long rounds, of a second or more, an implementation that in three rounds never came
    within a quarter of the fastest one rests from then on. When others use the machine for
    ``PATIENCE`` budgets of time, rounds they disturbed are taken, and the cell is marked.
    """
    order, times = random.Random(seed), Times()
    calls = {name: _calls(entrant, clock) for name, entrant in entrants.items()}
    resting: set[str] = set()
    spare: list[dict[str, float]] = []
    began, lost = clock.now(), 0.0
    while len(times.rounds) < rounds or clock.now() - began < seconds:
        watched: list[dict[str, float]] = []
        before, start = clock.busy(), clock.now()
        while not watched or clock.now() - start < WATCHED:
            names = [name for name in entrants if name not in resting]
            order.shuffle(names)
            watched.append({n: clock.block(entrants[n], calls[n]) for n in names})
        took = clock.now() - start
        if clock.foreign(before, took) > FOREIGN:
            times.thrown += len(watched)
            lost, spare = lost + took, (spare + watched)[-rounds:]
            if lost > PATIENCE * seconds and len(spare) + len(times.rounds) >= rounds:
                times.contaminated = True
                break
            clock.sleep(0.05)
            continue
        times.rounds += watched
        long = took / len(watched) > 1.0
        if long and len(times.rounds) >= 3:
            resting = _slow(times) - set(never_rest)
    if times.contaminated:
        times.rounds += spare[: max(0, rounds - len(times.rounds))]
    return times


def quartiles(values: list[float]) -> tuple[float, float, float]:
    """Lower quartile, median and upper quartile.

    >>> quartiles([1.0, 2.0, 3.0, 4.0, 5.0])
    (2.0, 3.0, 4.0)
    """
    if not values:
        raise ValueError("there is nothing to take quartiles of; values is empty.")
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def band(ratios: list[float]) -> float:
    """Half the width of the A/A band, from the same code timed twice: at least 3 %.

    >>> band([1.0, 1.0, 1.0]), round(band([0.8, 1.0, 1.25]), 3)
    (0.03, 0.118)
    """
    low, _, high = quartiles([math.log(ratio) for ratio in ratios])
    return max(LEAST_BAND, math.exp(max(abs(low), abs(high))) - 1)


def _calls(entrant: Entrant, clock: Clock) -> int:
    """Calls that fill a block; short ones warm up twice more first."""
    seconds = clock.block(entrant, 1)
    if seconds < 10 * BLOCK:
        seconds = min(seconds, *(clock.block(entrant, 1) for _ in range(2)))
    return max(1, min(entrant.most, math.ceil(BLOCK / max(seconds, 1e-7))))


def _slow(times: Times) -> set[str]:
    best = {n: min(r[n] for r in times.rounds if n in r) for n in times.rounds[0]}
    return {name for name, least in best.items() if least > 1.25 * min(best.values())}
