"""Mistakes that the tests have to notice, one file or folder for each room of ``mhsa_lib``.

Each is one edit of one file, and names the test files that have to notice it. ``mutate`` plants
them one at a time.
"""

from importlib import import_module
from pkgutil import walk_packages

from tools.check.mutant import Mutant

MUTANTS: list[Mutant] = [
    mutant
    for file in walk_packages(__path__, f"{__name__}.")
    if not file.ispkg
    for mutant in import_module(file.name).MUTANTS
]
