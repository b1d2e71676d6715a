"""Mistakes in `mhsa_lib/fused/call`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "one query under a window looks further back",
        "fused/call.py",
        "k, v, n_key = k[..., low:high, :], v[..., low:high, :], high - low",
        "pass",
        "fused/dispatch",
    ),
    Mutant(
        "weights of a padded batch are never dropped",
        "fused/call.py",
        "dropout=self.dropout,",
        "dropout=0.0,",
        "fused/dropout",
    ),
]
