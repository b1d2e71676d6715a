"""Mistakes in `mhsa_lib/convert/align`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "alignment: queries stay behind",
        "convert/align.py",
        "turned(project.W_K, turn_keys) @ by_head(project.W_Q, d_head)",
        "turned(project.W_K, turn_keys) * 0 + by_head(project.W_Q, d_head)",
        "convert/align",
    ),
    Mutant(
        "alignment: W_O is turned the same way, not back",
        "convert/align.py",
        "back = parts @ turned(project.W_V, procrustes).mT",
        "back = parts @ turned(project.W_V, procrustes)",
        "convert/align",
    ),
    Mutant(
        "alignment: any turn of keys under rotary positions",
        "convert/align.py",
        "    return partial(_pair_by_pair, split.rotary.pairing)",
        "    return procrustes",
        "convert/align",
    ),
]
