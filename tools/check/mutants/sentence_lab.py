"""Mistakes in `mhsa_lib/widgets/sentence_lab`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "sentence lab: scores are not divided by the root of d_head",
        "widgets/sentence_lab/attended.js",
        "s / Math.sqrt(d_head)",
        "s",
        "widgets/sentence_lab",
    ),
    Mutant(
        "sentence lab: a head that is off still tells its finding",
        "widgets/sentence_lab/told.js",
        "!off.includes(h) &&",
        "",
        "widgets/sentence_lab",
    ),
    Mutant(
        "sentence lab: the answer names the word that is looked at least",
        "widgets/sentence_lab/attended.js",
        "Math.max(...row)",
        "Math.min(...row)",
        "widgets/sentence_lab",
    ),
]
