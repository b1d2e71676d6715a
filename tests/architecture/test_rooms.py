"""Rooms and layers: who imports whom, and what the top level exports."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import mhsa_lib
from tests.architecture.library import MODULES, ROOT, TREE, VARIANTS, imports, inside, tree

PICTURES = {"matplotlib", "ipywidgets", "anywidget", "bertviz", "IPython", "seaborn", "plotly"}
OPTIONAL = PICTURES | {"transformers", "huggingface_hub", "safetensors"}
FRONTS = {"bench", "bertviz_adapter", "plots", "widgets"}
WITHOUT = [module for module in MODULES if module.split(".")[0] not in FRONTS]
ALONE = {
    *("shapes", "device", "functional", "measure", "naive", "stages", "attention"),
    "one_file",  # what a reader takes away, without the house
}


def test_the_root_holds_the_core_and_rooms():
    files = {file.stem for file in ROOT.glob("*.py")}
    assert files == ALONE | {"__init__"}


def lint(folder: Path) -> subprocess.CompletedProcess:
    """What import-linter says about the library in a folder, by this project's contracts."""
    code = "from importlinter.cli import lint_imports_command as run; run()"
    command = [sys.executable, "-c", code, "--no-cache", "--config"]
    return subprocess.run(
        [*command, str(ROOT.parent / "pyproject.toml")],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
    )


RULE = "Rooms import downwards only"
PLANTED = {
    "up": ("functional.py", "from mhsa_lib import stages", RULE),
    "beside": (
        "costs/formulas.py",
        "import mhsa_lib.fused.dispatch",
        "Rooms import downwards only",
    ),
    "a circle": ("trace/hooks.py", "from mhsa_lib.tracing import wires", "No circles"),
    "a kernel that dispatches": (
        "fused/tiled.py",
        "from mhsa_lib.fused import dispatch",
        "Fused: modules",
    ),
    "a picture": ("measure.py", "import matplotlib", "Layers 1 to 4 draw nothing"),
}


@pytest.mark.parametrize("planted", [None, *PLANTED])
def test_the_contracts_hold_and_notice_an_import_that_breaks_them(planted, tmp_path):
    shutil.copytree(ROOT, tmp_path / "mhsa_lib", ignore=shutil.ignore_patterns("__pycache__"))
    if planted:
        name, line, contract = PLANTED[planted]
        file = tmp_path / "mhsa_lib" / name
        file.write_text(f"{line}\n{file.read_text(encoding='utf-8')}", encoding="utf-8")
    found = lint(tmp_path)
    assert found.returncode == bool(planted), found.stdout
    if planted:
        assert f"{contract}" in found.stdout.split("BROKEN")[0].splitlines()[-1]


def test_every_room_says_in_one_sentence_what_lives_there():
    for file in ROOT.rglob("__init__.py"):
        said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
        assert (said or "").partition("\n")[0].endswith("."), file


def test_no_module_imports_the_package_as_a_whole():
    assert [m for m in MODULES if "mhsa_lib" in imports(ast.walk(tree(m)))] == []


def test_optional_libraries_are_imported_only_where_they_are_used():
    top = {m: {name.split(".")[0] for name in imports(tree(m).body)} for m in WITHOUT}
    assert [m for m, names in top.items() if not names.isdisjoint(OPTIONAL)] == []


def test_importing_the_package_reaches_no_optional_library():
    reached, todo = (
        set(),
        inside(imports(ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8")).body)),
    )
    while todo:
        module = todo.pop()
        reached.add(module)
        todo |= inside(imports(tree(module).body)) - reached
    assert {name.split(".")[0] for name in reached}.isdisjoint(FRONTS)
    assert {"equivalence.wall", "examples", "convert", "pretrained"}.isdisjoint(reached)


@pytest.mark.parametrize("module", VARIANTS)
def test_variants_do_not_know_each_other(module):
    assert not {name for name in inside(imports(ast.walk(tree(module)))) if name in VARIANTS}


INTERFACE = (
    "MultiHeadAttention FusedMultiHeadAttention GroupedQueryAttention MultiQueryAttention "
    "LatentAttention CollaborativeAttention OverlappedAttention MixtureOfHeadAttention "
    "ComposedAttention default_device trace edit trace_ops"
)


@pytest.mark.parametrize("name", INTERFACE.split())
def test_what_the_book_teaches_is_at_the_top_and_says_what_it_is(name):
    found = getattr(mhsa_lib, name)
    assert callable(found)
    assert len((found.__doc__ or "").split()) >= 3
    assert ">>>" in found.__doc__


MASKS = (
    "causal sliding_window prefix padding key_padding custom picture from_additive from_torch"
)


@pytest.mark.parametrize("name", MASKS.split())
def test_every_mask_is_found_in_masks_and_says_what_it_is(name):
    assert len((getattr(mhsa_lib.masks, name).__doc__ or "").split()) >= 3


def test_the_package_says_its_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", mhsa_lib.__version__)


FUNCTIONS = {
    name for name, value in vars(mhsa_lib).items() if not isinstance(value, ModuleType)
}
ROOMS = sorted({module for module in MODULES if "." not in module} - FUNCTIONS)


def test_every_room_can_be_imported_from_the_top_and_masks_are_there_at_once():
    code = f"import mhsa_lib; mhsa_lib.masks.causal; from mhsa_lib import {', '.join(ROOMS)}"
    environment = {"PYTHONPATH": str(TREE), "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
