"""Mistakes in `mhsa_book/equivalence`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "the peers' biases are left at random",
        "equivalence/peers.py",
        "            if source.bias is not None:",
        "            if False:",
        "equivalence/peers",
    ),
    Mutant(
        "the wall is always green",
        "equivalence/comparison.py",
        "self.delta is None or self.delta <= TOLERANCE[self.dtype]",
        "True",
        "equivalence/comparison",
    ),
    Mutant(
        "equivalence: a class of one's own never sees the context",
        "equivalence/own.py",
        "case.x, case.context, case.dense",
        "case.x, None, case.dense",
        "exercises/my_attention",
    ),
]
