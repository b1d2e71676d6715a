"""Mistakes in `mhsa_lib/fused/blocks`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "a block asks about positions of the first block",
        "fused/blocks.py",
        "query = torch.arange(start + shift, end + shift, device=q.device)[:, None]",
        "query = torch.arange(shift, end - start + shift, device=q.device)[:, None]",
        "fused/dispatch",
    ),
    Mutant(
        "under dropout the kernel depends on gradients",
        "fused/blocks.py",
        "not (call.dropout or trains(call.q))",
        "not trains(call.q)",
        "fused/dropout",
    ),
]
