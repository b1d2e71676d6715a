"""Mistakes in `mhsa_lib/plots`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "plot: a roof without a slope",
        "plots/roof.py",
        "limits.attainable(intensity, *rates) for",
        "rates.peak for",
        "plots/roof",
    ),
]
