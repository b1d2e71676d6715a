"""Mistakes in `mhsa_lib/shapes`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "an axis has one colour too few",
        "shapes.py",
        '"key": "#b34700"',
        '"key": "#0060a0"',
        "shapes",
    ),
    Mutant(
        "of several batch axes the first is shown",
        "shapes.py",
        "leading[0] if len(leading) == 1 else leading",
        "leading[0]",
        "shapes",
    ),
]
