"""Mistakes in `mhsa_book/widgets/ranks_lab`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "ranks in the page: more ranks than heads of keys exchange heads",
        "widgets/ranks_lab/shares.js",
        "cut === BY_HEADS && ranks % keys === 0",
        "ranks % keys === 0",
        "widgets/ranks_lab",
    ),
    Mutant(
        "ranks in the page: a copy is not marked",
        "widgets/ranks_lab/rank_rows.js",
        "copy: rank % sharing > 0",
        "copy: false",
        "widgets/ranks_lab",
    ),
]
