"""Mistakes in `mhsa_lib/exercises`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "exercises: any shape is right",
        "exercises/same.py",
        "if found.shape != expected.shape:",
        "if found.ndim != expected.ndim:",
        "exercises/check",
    ),
    Mutant(
        "exercises: an error of the answer stops the notebook",
        "exercises/kinds.py",
        "except Exception as error:  # whatever a reader's code raises is their answer",
        "except ValueError as error:",
        "exercises/check",
    ),
    Mutant(
        "exercises: expected mistakes are not answered by name",
        "exercises/kinds.py",
        "if not difference(answer, value)]",
        "if difference(answer, value)]",
        "exercises/check",
    ),
]
