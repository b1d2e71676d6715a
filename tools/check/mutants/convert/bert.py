"""Mistakes in `mhsa_lib/convert/bert`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "BERT's key and value exchanged",
        "convert/bert.py",
        "maps = inner.query, inner.key, inner.value, dense",
        "maps = inner.query, inner.value, inner.key, dense",
        "convert/bert",
    ),
    Mutant(
        "BERT's own scale is not asked for",
        "convert/bert.py",
        'getattr(inner, "scaling", d_head**-0.5)',
        "d_head**-0.5",
        "accept/foreign",
    ),
    Mutant(
        "CANINE's chunks are not seen",
        "convert/bert.py",
        'if getattr(source, "local", False):',
        "if False:",
        "accept/foreign",
    ),
]
