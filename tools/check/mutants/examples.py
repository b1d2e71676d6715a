"""Mistakes in `mhsa_lib/examples`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "the worked example takes values from the wrong columns",
        "examples/worked.py",
        "pick[[0, 2, 1, 3]]",
        "pick",
        "examples/worked",
    ),
]
