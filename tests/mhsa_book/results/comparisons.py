"""Comparisons of any outcome, made of their differences."""

from mhsa_book.results.censored import paired_steps
from mhsa_book.results.paired import Measure, Paired

ACCURACY = Measure("accuracy")
LOSS = Measure("loss", "nats", better="lower")
WIGGLE = (-0.015, 0.011, 0.004, -0.009, 0.012, -0.002, 0.007, -0.008)
"""Eight deviations of sum 0: their mean is exact, their standard error 0.0036."""


def compared(shift, measure=ACCURACY, scale=1.0, first="wide", second="thin"):
    """A mean difference of ``shift``, with eight seeds around it."""
    differences = tuple(round(shift + scale * d, 9) for d in WIGGLE)
    return Paired(first, second, measure, tuple(range(8)), differences)


def constant(value, n=8):
    return Paired("wide", "thin", ACCURACY, tuple(range(n)), (value,) * n)


def steps(ours, theirs, horizon=1_000):
    arms = {"wide": dict(enumerate(ours)), "thin": dict(enumerate(theirs))}
    return paired_steps(arms, horizon)
