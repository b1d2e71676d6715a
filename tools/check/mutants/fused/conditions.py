"""Mistakes in `mhsa_lib/fused/conditions`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "causal for unequal lengths starts at the first key",
        "fused/conditions.py",
        '    if call.shift != 0:\n        return "not as many queries as keys"\n',
        "",
        "fused/dispatch",
    ),
]
