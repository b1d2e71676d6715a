"""Mistakes in `mhsa_lib/fused/ragged`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "real tokens are looked for in the first sequence",
        "fused/ragged.py",
        "starts = range(0, n_tokens * len(lengths), n_tokens)",
        "starts = range(0, len(lengths))",
        "fused/ragged",
    ),
    Mutant(
        "padding gets zeros instead of b_O",
        "fused/ragged.py",
        "if bias is None else bias.to(y)",
        "",
        "fused/ragged",
    ),
]
