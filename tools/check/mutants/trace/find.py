"""Mistakes in `mhsa_lib/tracing/find`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "the example in a message is no Python",
        "trace/find.py",
        'text += f"[{name}]"',
        'text += f".{name}"',
        "trace/find",
    ),
    Mutant(
        "of several attentions the first is taken",
        "trace/find.py",
        "if len(outermost) > 1:",
        "if False:",
        "trace/find",
    ),
]
