"""Mistakes in `mhsa_book/difference`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "difference: what is removed counts as changed",
        "trace/difference.py",
        "for line in new[start:end]",
        "for line in new[start:end] or old[start : start + 1]",
        "trace/difference",
    ),
    Mutant(
        "difference: the source is put in the page as it is",
        "trace/difference.py",
        "</i>{escape(line)}</span>",
        "</i>{line}</span>",
        "trace/difference",
    ),
    Mutant(
        "difference: sources of one name are landmarks of a page",
        "trace/difference.py",
        '<pre role="group"',
        '<pre tabindex="0" role="region"',
        "trace/difference",
    ),
]
