"""Mistakes in `mhsa_book/conversions/pairing`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "other pairing: keys are not reordered",
        "convert/pairing.py",
        "    for W in (project.W_Q, project.W_K):\n",
        "    for W in (project.W_Q,):\n",
        "convert/align",
    ),
]
