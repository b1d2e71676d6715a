"""Mistakes in `mhsa_lib/fused/blas`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "the stopwatch overrules a choice",
        "fused/blas.py",
        'return is_faster() if choice == "auto" else choice == "onednn"',
        "return is_faster()",
        "fused/blas",
    ),
    Mutant(
        "the stopwatch measures in the default dtype",
        "fused/blas.py",
        '{"dtype": torch.float32, "device": "cpu"}',
        '{"device": "cpu"}',
        "fused/blas",
    ),
]
