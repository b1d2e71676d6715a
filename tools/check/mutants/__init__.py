"""Mistakes that the tests have to notice, one file for each room of ``mhsa_lib``.

Each is one edit of one file, and names the test files that have to notice it. ``mutate`` plants
them one at a time.
"""

from importlib import import_module
from pkgutil import iter_modules

from tools.check.mutant import Mutant

MUTANTS: list[Mutant] = [
    mutant
    for room in iter_modules(__path__)
    for mutant in import_module(f"{__name__}.{room.name}").MUTANTS
]
