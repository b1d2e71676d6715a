"""Mistakes in `mhsa_lib/fused/cuts`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "a tile far from the ends is taken for one at the end",
        "fused/cuts.py",
        "min(high, n_key) - place",
        "n_key",
        "fused/tiled",
    ),
    Mutant(
        "keys that fill up a tile are looked at",
        "fused/cuts.py",
        "& (key < end))",
        ")",
        "fused/tiled",
    ),
]
