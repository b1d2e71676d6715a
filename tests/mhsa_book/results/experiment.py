"""An experiment of three arms and a twin, made of curves that rise to a level and stay."""

from random import Random

from mhsa_book.results.curves import Curve
from mhsa_book.results.paired import Measure
from mhsa_book.results.runs import Arm, Runs

STEPS = tuple(range(50, 2_001, 50))


def curve(level, arrives, seed, noise=0.002):
    """0.1 up to a step, then the level, with noise."""
    random = Random(seed)
    values = [level if step >= arrives else 0.1 for step in STEPS]
    return Curve(STEPS, tuple(round(value + random.gauss(0, noise), 5) for value in values))


def arm(level, arrives, salt, seeds=range(8), **more):
    """An arm whose seed s arrives 50 s later, and never if that is not before the end."""
    curves = {s: curve(level, arrives + 50 * s, seed=100 * salt + s) for s in seeds}
    fixed = {
        "settings": {"n_heads": 4, "schedule": "constant"},
        "learning_rate": 0.003,
        "rates": (0.001, 0.003, 0.01),
        "tuned_on": (900, 901),
    }
    return Arm(**(fixed | more), curves=curves)


ARMS = {
    "plain": arm(0.9, 400, salt=1),
    "plain again": arm(0.9, 400, salt=2),
    "wide": arm(0.97, 300, salt=3, settings={"n_heads": 4, "d_head": 16}),
}

FIXED = {
    "name": "demo",
    "question": "Do wide heads help?",
    "measure": Measure("accuracy"),
    "level": 0.9,
    "tolerance": 0.02,
    "arms": ARMS,
    "floor": ("plain", "plain again"),
    "predictions": ("Wide heads end higher, by 0.05 or more.",),
    "predictions_commit": "0123456789abcdef0123456789abcdef01234567",
    "date": "2026-01-31",
    "machine": {"processor": "x86_64", "threads": 1, "seconds": 12.5, "versions": ["a", "b"]},
}


def experiment(**other):
    """The experiment, with something different."""
    return Runs(**(FIXED | other))
