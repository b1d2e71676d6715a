"""Remember which mistakes were noticed, so that only what has changed is tried again.

A mistake is remembered by its name and a fingerprint: the edit, the module it is planted in,
the test files that have to notice it, what these import from ``tests`` (and so on), and every
``conftest.py`` above them. Comments, docstrings and blank lines do not count (the planted runs
collect no doctest of the library), and neither do the paths of files.

Left out is what would make nearly every mistake new at every edit, or is seldom its cause: the
rest of the packages, which almost every test imports whole; files that tests read, and modules
that they import by a name they compute; the versions of Python and of what is installed. For
these ``make slow`` tries all mistakes, every week.
"""

import ast
import functools
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from tools.build.dependencies import bare
from tools.check.mutant import Mutant, Project

FILE = Path(__file__).with_name("mutants") / "noticed.json"


def read(file: Path = FILE) -> dict[str, str]:
    """Return the fingerprint under which each mistake was noticed, by its name."""
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def write(noticed: dict[str, str], file: Path = FILE) -> None:
    """Keep fingerprints, one a line, so that two branches rarely touch the same."""
    lines = json.dumps(noticed, ensure_ascii=False, indent=0, sort_keys=True)
    file.write_text(f"{lines}\n", encoding="utf-8")


def fingerprints(mutants: Iterable[Mutant], project: Project) -> dict[str, str]:
    """Return what changes when a mistake, its module or its tests do, by the mistake's name."""
    mean = functools.cache(lambda file: bare(file.read_text(encoding="utf-8")).encode())
    beside = functools.cache(lambda tests: sorted(used_by(tests, project.root)))
    found = {}
    for mutant in mutants:
        edit = (mutant.where, mutant.old, mutant.new)
        digest = hashlib.sha256(repr(edit).encode())
        file, _ = project.find(mutant.where)
        for each in (file, *beside(frozenset(project.tests(mutant)))):
            digest.update(mean(each) + b"\0")
        found[mutant.name] = digest.hexdigest()[:16]
    return found


def used_by(tests: Iterable[Path], root: Path) -> set[Path]:
    """Return test files, all that they import from ``tests``, and the conftests above."""
    found, todo = set[Path](), list(tests)
    while todo:
        file = todo.pop()
        if file in found or not file.exists():
            continue
        found.add(file)
        todo += imported(file, root)
        above = (folder for folder in file.parents if folder.is_relative_to(root))
        todo += [folder / "conftest.py" for folder in above]
    return found


def imported(file: Path, root: Path) -> list[Path]:
    """Return the files of ``tests`` that a module may import: ``tests.a`` and ``tests.a.b``."""
    names = []
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [root / f"{n.replace('.', '/')}.py" for n in names if n.startswith("tests.")]
