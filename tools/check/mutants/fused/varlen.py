"""Mistakes in `mhsa_lib/fused/varlen`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "a kernel for lengths with too few arguments is called",
        "fused/varlen.py",
        "varlen_attn if set(inspect.signature(varlen_attn).parameters) >= PASSED else None",
        "varlen_attn",
        "fused/varlen",
    ),
]
