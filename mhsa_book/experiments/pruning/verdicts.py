"""Which predictions came true, each with the numbers that decide it."""

from collections.abc import Callable
from statistics import fmean
from typing import NamedTuple

from mhsa_book.experiments.pruning.predictions import PREDICTIONS
from mhsa_book.experiments.translation.heads import SHORT
from mhsa_book.results.claims import ALPHA
from mhsa_book.results.pruning import (
    CHANCE,
    CLOSED,
    CONFIDENCE,
    CUTS,
    GREEDY,
    IMPORTANCE,
    L0,
    L0_HEADS,
    SCRATCH,
    Pruning,
)


class Verdict(NamedTuple):
    """A prediction, whether it came true, and what was found."""

    prediction: str
    came_true: bool
    found: str


def verdicts(found: Pruning) -> tuple[Verdict, ...]:
    """One for each of ``PREDICTIONS``, in the same order."""
    return tuple(
        Verdict(text, *judge(found)) for text, judge in zip(PREDICTIONS, JUDGES, strict=True)
    )


Judged = tuple[bool, str]


def _gates_hit_the_level(found: Pruning) -> Judged:
    near = {
        level: sum(abs(sum(g > 0 for g in gates) - level) <= 3 for gates in all_gates.values())
        for level in found.levels
        for all_gates in [found.gates(level)]
    }
    return min(near.values()) >= _all_but_one(found), f"seeds within three, by level: {near}"


def _gates_are_bimodal(found: Pruning) -> Judged:
    gates = [g for level in found.levels for some in found.gates(level).values() for g in some]
    between = sum(0 < g < 1 for g in gates)
    return 8 * between <= len(gates), f"{between} of {len(gates)} gates are between"


def _greedy_cuts_best(found: Pruning) -> Judged:
    others = (IMPORTANCE, CONFIDENCE, CHANCE)
    held = _held(found, 12, GREEDY, *others, when="before")
    return held >= _all_but_one(found), f"in {held} seeds"


def _tuning_forgives(found: Pruning) -> Judged:
    means = {way: round(fmean(found.loss(way, 18).values()), 4) for way in CUTS}
    return max(means.values()) < 0.05, f"mean losses: {means}"


def _choosing_helps(found: Pruning) -> Judged:
    held = [_held(found, 8, way, CHANCE) for way in (GREEDY, L0_HEADS)]
    return min(held) >= _all_but_one(found), f"greedy in {held[0]} seeds, L0's in {held[1]}"


def _confidence_does_not(found: Pruning) -> Judged:
    held = _held(found, 8, CHANCE, CONFIDENCE)
    return 2 * held >= len(found.seeds), f"random loses less in {held} seeds"


def _scratch_is_better(found: Pruning) -> Judged:
    held = _held(found, 8, SCRATCH, L0)
    return 8 * held >= 5 * len(found.seeds), f"from scratch loses less in {held} seeds"


def _the_encoder_goes_first(found: Pruning) -> Judged:
    kept = [found.heads[h] for ((*heads,),) in found.kept(L0, 4).values() for h in heads]
    n = {kind: sum(name.startswith(kind) for name in kept) for kind in SHORT.values()}
    encoder, *others = n.values()
    return encoder < min(others), f"heads kept: {n}"


def _roles_survive(found: Pruning) -> Judged:
    ps = {way: found.survival(way, 8)[2] for way in (GREEDY, IMPORTANCE, L0, CONFIDENCE)}
    *kept, confidence = ps.values()
    return max(kept) <= ALPHA < confidence, f"p: { {w: round(p, 4) for w, p in ps.items()} }"


def _only_removing_saves(found: Pruning) -> Judged:
    closed, twelve, four = (fmean(found.time(name).values()) for name in (CLOSED, 12, 4))
    held = closed >= 0.98 and 0.6 <= twelve <= 0.85 and 0.35 <= four <= 0.6
    return held, f"closed {closed:.2f}, 12 heads {twelve:.2f}, 4 heads {four:.2f}"


JUDGES: tuple[Callable[[Pruning], Judged], ...] = (
    _gates_hit_the_level,
    _gates_are_bimodal,
    _greedy_cuts_best,
    _tuning_forgives,
    _choosing_helps,
    _confidence_does_not,
    _scratch_is_better,
    _the_encoder_goes_first,
    _roles_survive,
    _only_removing_saves,
)
"""In the order of the predictions."""


def _held(found: Pruning, level: int, least: str, *others: str, when: str = "after") -> int:
    """Seeds in which one way loses less than every other."""
    ours = found.loss(least, level, when)
    theirs = [found.loss(way, level, when) for way in others]
    return sum(all(ours[seed] < other[seed] for other in theirs) for seed in found.seeds)


def _all_but_one(found: Pruning) -> int:
    return len(found.seeds) - 1
