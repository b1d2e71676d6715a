"""Mistakes in `mhsa_lib/fused/written`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "written out, what is forbidden is looked at",
        "fused/written.py",
        "scores += addend",
        "pass",
        "fused/dispatch",
    ),
    Mutant(
        "written out, a blind query looks at everything",
        "fused/written.py",
        "z if blind is None else z.masked_fill(blind, 0.0)",
        "z",
        "fused/dispatch",
    ),
    Mutant(
        "written out, a band starts at the first key",
        "fused/written.py",
        "torch.arange(shift, shift + n_query, device",
        "torch.arange(n_query, device",
        "fused/dispatch",
    ),
    Mutant(
        "the mask of one band is kept for another",
        "fused/written.py",
        "return _added(band.allows(query, key), dtype)",
        "return _added(Band(ahead=0).allows(query, key), dtype)",
        "fused/dispatch",
    ),
]
