"""What this project promised to be: always true when a change lands."""

import ast
import re

import nbformat
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.helpers.colab import added, had
from tools import PACKAGES, ROOT
from tools.build.notebooks import bootstraps, notebooks, plain_code
from tools.check import audit, compare

TOP = ["book", "notebooks", "mhsa_lib", "tests", "_config.yml", "_toc.yml", "requirements.txt"]
PINNED = {
    canonicalize_name(need.name): need
    for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
    for need in [Requirement(line)]
}
IMPORTED = ["torch", "matplotlib", "ipywidgets", "bertviz"]
IN_TOC = re.findall(r"file: notebooks/(\S+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))


def names_imported(code: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(str(node.module).partition(".")[0])
    return found


def test_the_top_level_has_what_it_should():
    assert [name for name in TOP if not (ROOT / name).exists()] == []


def test_jupyter_book_is_of_version_one_and_builds_the_book():
    (pin,) = PINNED["jupyter-book"].specifier
    assert pin.operator == "=="
    assert pin.version.startswith("1.")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    goal = re.search(r"^book:.*\n((?:[\t@].*\n)*)", makefile, re.MULTILINE)
    assert goal is not None
    assert "jupyter-book build ." in goal[1]


@pytest.mark.parametrize("name", IMPORTED)
def test_a_pinned_library_is_imported_by_what_runs(name):
    assert name in PINNED
    sources = [
        path.read_text(encoding="utf-8") for p in PACKAGES for path in (ROOT / p).rglob("*.py")
    ]
    sources += [plain_code(nbformat.read(path, as_version=4)) for path in notebooks()]
    assert any(name in names_imported(source) for source in sources)


def test_nbval_is_pinned_and_compares_every_notebook_of_the_contents(monkeypatch, tmp_path):
    assert "nbval" in PINNED
    ran = []
    monkeypatch.setattr(compare.subprocess, "call", lambda command, **_: ran.append(command))
    compare.nbval(tmp_path, site=tmp_path)
    assert "--nbval" in ran[0]
    assert not any("ignore" in str(word) or "deselect" in str(word) for word in ran[0])


def test_what_is_compared_with_the_wheel_are_the_notebooks_of_the_contents(monkeypatch):
    ran, installed = [], []
    monkeypatch.setattr(compare.wheel, "build", lambda top: (top / "a.whl").touch())
    monkeypatch.setattr(compare.wheel, "install", lambda built, site: installed.append(site))

    def nbval(folder, *, site):
        assert installed == [site]
        ran.extend(path.stem for path in folder.glob("*.ipynb"))
        return 0

    monkeypatch.setattr(compare, "nbval", nbval)
    assert compare.main() == 0
    assert sorted(ran) == sorted([*IN_TOC, "00_imports_the_wheel"])
    assert len(IN_TOC) == len({*IN_TOC}) > 30


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_seven_tenths_of_the_outputs_of_a_notebook_are_compared(path):
    assert audit.minimum() >= 0.70
    assert audit.audit(path).complaints(0.70) == []


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_the_first_cell_of_a_notebook_brings_what_colab_lacks(path):
    notebook = nbformat.read(path, as_version=4)
    first = next(c for c in notebook.cells if c.cell_type == "code")
    assert first.source in bootstraps(notebook)
    there = had().keys() | added()
    assert {
        canonicalize_name(name) for name in ("torch", *IMPORTED, "einops", "jaxtyping")
    } <= there
