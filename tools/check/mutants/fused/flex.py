"""Mistakes in `mhsa_lib/fused/flex`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "FlexAttention counts positions from the first key",
        "fused/flex.py",
        "torch.tensor(n_key - n_query, device=device)",
        "torch.tensor(0, device=device)",
        "fused/flex",
    ),
    Mutant(
        "FlexAttention keeps the blocks of a rule that may change",
        "fused/flex.py",
        "_kept if mask.fixed else _blocks",
        "_kept",
        "fused/flex",
    ),
    Mutant(
        "FlexAttention compiles for every number of keys",
        "fused/flex.py",
        "torch.compile(kernel) if",
        "torch.compile(kernel, dynamic=False) if",
        "fused/flex",
    ),
    Mutant(
        "FlexAttention compiles for one query",
        "fused/flex.py",
        "FEWEST = 128",
        "FEWEST = 1",
        "fused/flex",
    ),
    Mutant(
        "FlexAttention asks the first sequence for all",
        "fused/flex.py",
        "return allowed[b if by_batch > 1 else 0, h if by_head > 1 else 0]",
        "return allowed[0, 0]",
        "fused/flex",
    ),
]
