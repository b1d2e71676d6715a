"""Packages and layers: who imports whom, and what can be imported from the top."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tomllib

import mhsa_lib
from tests.architecture.library import MODULES, TREE, VARIANTS, imports, inside, path, tree
from tools import PACKAGES

PICTURES = {"matplotlib", "ipywidgets", "anywidget", "bertviz", "IPython", "seaborn", "plotly"}
OPTIONAL = PICTURES | {"transformers", "huggingface_hub", "safetensors", "gguf", "tokenizers"}
FRONTS = {f"mhsa_book.{name}" for name in ("bench", "bertviz", "plots", "widgets")}
WITHOUT = [m for m in MODULES if ".".join(m.split(".")[:2]) not in FRONTS]


def lint(folder: Path) -> subprocess.CompletedProcess:
    """What import-linter says about the packages in a folder, by this project's contracts."""
    code = "from importlinter.cli import lint_imports_command as run; run()"
    command = [sys.executable, "-c", code, "--no-cache", "--config"]
    return subprocess.run(
        [*command, str(TREE / "pyproject.toml")],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
    )


PLANTED = {
    "up": (
        "mhsa_lib/functional.py",
        "from mhsa_lib import stages",
        "mhsa_lib: imports point down",
    ),
    "up in the book": (
        "mhsa_book/costs/formulas.py",
        "import mhsa_book.plots.charts",
        "mhsa_book: imports point down",
    ),
    "the library imports the book": (
        "mhsa_lib/functional.py",
        "import mhsa_book.naive",
        "The library never imports the book",
    ),
    "a circle": (
        "mhsa_lib/tracing/hooks.py",
        "from mhsa_lib.tracing import wires",
        "No circles",
    ),
    "a picture": ("mhsa_lib/functional.py", "import matplotlib", "The library draws nothing"),
}


@pytest.mark.parametrize("planted", [None, *PLANTED])
def test_the_contracts_hold_and_notice_an_import_that_breaks_them(planted, tmp_path):
    for package in PACKAGES:
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(TREE / package, tmp_path / package, ignore=ignore)
    if planted:
        name, line, contract = PLANTED[planted]
        file = tmp_path / name
        file.write_text(f"{line}\n{file.read_text(encoding='utf-8')}", encoding="utf-8")
    found = lint(tmp_path)
    assert found.returncode == bool(planted), found.stdout
    if planted:
        assert f"{contract} BROKEN" in found.stdout


CONTRACTS = tomllib.loads((TREE / "pyproject.toml").read_text(encoding="utf-8"))
LAYERS = {
    contract["id"]: contract["layers"]
    for contract in CONTRACTS["tool"]["importlinter"]["contracts"]
    if contract["id"] in PACKAGES
}


@pytest.mark.parametrize(("package", "most"), [("mhsa_lib", 10), ("mhsa_book", 18)])
def test_a_package_has_few_subpackages_on_five_layers(package, most):
    folders = [f for f in (TREE / package).iterdir() if (f / "__init__.py").exists()]
    assert len(folders) <= most
    assert len(LAYERS[package]) == 5


def test_every_package_says_in_one_sentence_what_it_holds():
    for package in PACKAGES:
        for file in (TREE / package).rglob("__init__.py"):
            docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
            assert (docstring or "").partition("\n")[0].endswith("."), file


def test_no_module_imports_a_package_as_a_whole():
    assert [m for m in MODULES if imports(ast.walk(tree(m))) & {*PACKAGES}] == []


def test_optional_libraries_are_imported_only_where_they_are_used():
    top = {m: {name.split(".")[0] for name in imports(tree(m).body)} for m in WITHOUT}
    assert [m for m, names in top.items() if not names.isdisjoint(OPTIONAL)] == []


def test_importing_the_library_reaches_no_optional_library_and_not_the_book():
    reached, todo = set(), {"mhsa_lib"}
    while todo:
        module = todo.pop()
        reached.add(module)
        todo |= inside(imports(tree(module).body)) - reached
    assert [module for module in reached if module.startswith("mhsa_book")] == []
    assert "mhsa_lib.convert" not in reached


@pytest.mark.parametrize("module", VARIANTS)
def test_variants_do_not_know_each_other(module):
    assert not {name for name in inside(imports(ast.walk(tree(module)))) if name in VARIANTS}


def below(package: str) -> list[str]:
    """The modules and packages directly below a package, without those that only run."""
    names = {m.split(".")[1] for m in MODULES if m.startswith(f"{package}.")}
    return sorted(names)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_can_be_imported_from_the_top(package):
    code = f"from {package} import {', '.join(below(package))}"
    environment = {"PYTHONPATH": str(TREE), "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


INTERFACE = (
    "MultiHeadAttention FusedMultiHeadAttention GroupedQueryAttention MultiQueryAttention "
    "LatentAttention CollaborativeAttention OverlappedAttention MixtureOfHeadAttention "
    "ComposedAttention default_device trace edit trace_ops kv_cache"
)


@pytest.mark.parametrize("name", INTERFACE.split())
def test_what_the_book_teaches_is_at_the_top_and_says_what_it_is(name):
    found = getattr(mhsa_lib, name)
    assert callable(found)
    assert len((found.__doc__ or "").split()) >= 3
    assert ">>>" in found.__doc__


MASKS = (
    "causal sliding_window prefix padding key_padding documents custom picture from_additive "
    "from_torch"
)


@pytest.mark.parametrize("name", MASKS.split())
def test_every_mask_is_found_in_masks_and_says_what_it_is(name):
    assert len((getattr(mhsa_lib.masks, name).__doc__ or "").split()) >= 3


def test_the_package_says_its_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", mhsa_lib.__version__)


def test_every_module_can_be_found():
    assert [module for module in MODULES if not path(module).exists()] == []
