"""Mistakes that the tests have to notice: the bugs of the wild and the exhibits of the museum.

Each is one edit of one function, and names the test files that have to notice it. ``mutate``
plants them one at a time. What only a machine would write is made by ``make mutation``.
"""

from importlib import import_module
from pkgutil import iter_modules

from tools.check.mutant import Mutant

MUTANTS: list[Mutant] = [
    mutant
    for file in iter_modules(__path__, f"{__name__}.")
    for mutant in import_module(file.name).MUTANTS
]
