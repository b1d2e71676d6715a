"""Mistakes in `mhsa_lib/fused/one_query`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "the queries of a group in another order",
        "fused/one_query.py",
        "q.unflatten(-3, (-1, group)).squeeze(-2) if",
        "q.unflatten(-3, (group, -1)).squeeze(-2).transpose(-3, -2) if",
        "fused/dispatch",
    ),
    Mutant(
        "a few queries are not scaled",
        "fused/one_query.py",
        "(call.k @ (call.scale * rows).mT).mT",
        "(call.k @ rows.mT).mT",
        "fused/dispatch",
    ),
]
