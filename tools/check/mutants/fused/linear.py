"""Mistakes in `mhsa_lib/fused/linear`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "a packed weight is never laid out again",
        "fused/linear.py",
        "if pack is None or not pack.is_of(self.weight):",
        "if pack is None:",
        "fused/linear",
    ),
    Mutant(
        "a packed weight is used in training",
        "fused/linear.py",
        "if self._packs is None or torch.is_grad_enabled() or not lasts(weight):",
        "if self._packs is None or not lasts(weight):",
        "fused/linear",
    ),
]
