"""Mistakes in `mhsa_lib/fused/explanation`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "an explanation gives the reason of the next row",
        "fused/explanation.py",
        "refused[row.name] = reason",
        "refused[row.name] = dispatch.TABLE[len(refused) + 1].against(call)",
        "fused/explanation",
    ),
    Mutant(
        "an explanation forgets dropout",
        "fused/explanation.py",
        "scale=scale, dropout=dropout)",
        "scale=scale)",
        "fused/explanation",
    ),
]
