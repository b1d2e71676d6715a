"""The walks of CONTRIBUTING.md, as they stand there, on a copy of the project."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.needs import missing
from tools import PACKAGES, ROOT
from tools.build import packages

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
REQUIREMENTS = tuple(sorted(file.name for file in ROOT.glob("requirements*.txt")))
SETTINGS = (*REQUIREMENTS, "pyproject.toml", "_toc.yml", "package.json", "tsconfig.json")
PARTS = (*PACKAGES, "tests", "tools", "notebooks", *SETTINGS)


# The line that a contributor types before any walk, as CONTRIBUTING.md has it.
ACTIVATE = "".join(re.findall(r"^\. .*/activate\b.*\n", TEXT, re.MULTILINE))

WALKS = [
    "Add a mask",
    "Change a label in a figure",
    "Add a variant",
    "Add a mutant",
    "Add a figure",
    "Add a chapter",
]


def walk(title: str) -> list[tuple[str, str]]:
    """The blocks of one walk in order: language and text."""
    section = TEXT.partition(f"### {title}\n")[2]
    section = re.split(r"^##+ ", section, maxsplit=1, flags=re.MULTILINE)[0]
    return re.findall(r"^```(\w+)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("walks")
    leave_out = shutil.ignore_patterns("__pycache__", "data")
    for name in PARTS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=leave_out)
        else:
            shutil.copy(ROOT / name, folder)
    if (ROOT / "node_modules").exists():
        (folder / "node_modules").symlink_to(ROOT / "node_modules")
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def not_activated() -> dict[str, str]:
    """The variables of a new shell: no folder of the environment is on its path."""
    own = Path(sys.executable).parent.resolve()
    folders = os.environ["PATH"].split(os.pathsep)
    path = os.pathsep.join(name for name in folders if Path(name).resolve() != own)
    return {**os.environ, "PATH": path}


def write(folder: Path, text: str) -> None:
    """Write the file that the first line names, or its part: ``# FILE, after DEFINITION``."""
    head, _, code = text.lstrip("#/ ").partition("\n")
    name, _, above = head.partition(", after ")
    file = folder / name
    if above:
        there = file.read_text(encoding="utf-8")
        ends = [
            node.end_lineno
            for node in ast.parse(there).body
            if getattr(node, "name", "") == above
        ]
        assert len(ends) == 1, f"{name} has {len(ends)} definitions of {above}"
        lines = there.splitlines(keepends=True)
        code = "".join([*lines[: ends[0]], "\n\n", code, *lines[ends[0] :]])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(code, encoding="utf-8")


def follow(folder: Path, title: str) -> None:
    """Write the files and run the commands of a walk; stop where one fails."""
    own = {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}
    for language, text in walk(title):
        if language == "sh":
            done = subprocess.run(
                ["bash", "-ec", ACTIVATE + text],
                cwd=folder,
                env={**not_activated(), **own},
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stdout + done.stderr
        else:
            write(folder, text)


def test_the_walks_are_those_that_are_followed():
    titles = re.findall(r"^### (.*)$", TEXT, re.MULTILINE)
    assert titles == WALKS
    assert all(any(language == "sh" for language, _ in walk(title)) for title in titles)


NAMED = {*re.findall(r"`([\w./]+/[\w./]+)`", TEXT)} - {"_build/plain"}  # `make plain` writes it


@pytest.mark.parametrize("name", sorted(NAMED))
def test_what_the_text_names_is_there(name):
    assert (ROOT / name).exists()


@pytest.mark.slow  # a minute and a half for both, and they change rarely
def test_a_variant_and_its_mutant(copy):
    follow(copy, "Add a variant")
    follow(copy, "Add a mutant")


@pytest.mark.slow  # a recipe that changes rarely
def test_a_mask(copy):
    follow(copy, "Add a mask")
    tests = (copy / "tests" / "mhsa_lib").rglob("test_*.py")
    joined = [file.name for file in tests if '"strided":' in file.read_text(encoding="utf-8")]
    assert sorted(joined) == ["test_contract.py", "test_predicates.py", "test_rules.py"]


@pytest.mark.parametrize(
    "title",
    ["Change a label in a figure", pytest.param("Add a figure", marks=pytest.mark.slow)],
)
def test_a_figure(copy, title):
    if not (ROOT / "node_modules").exists():
        missing("no node_modules: run `make book`")
    follow(copy, title)


@pytest.mark.slow
def test_a_chapter(copy):
    follow(copy, "Add a chapter")


@pytest.mark.parametrize("package", PACKAGES)
def test_the_map_of_the_packages_shows_every_one(package):
    plan = packages.layers((ROOT / "pyproject.toml").read_text(encoding="utf-8"), package)
    shown = {name for _, rows in plan for row in rows for name in row}
    files = [p for p in (ROOT / package).iterdir() if p.is_dir() or p.suffix == ".py"]
    inside = {f"{package}.{path.stem}" for path in files if not path.stem.startswith("__")}
    assert shown == inside


def test_the_map_of_the_packages_is_drawn_from_the_contracts(tmp_path):
    packages.save(tmp_path / "packages.svg")
    drawn = (tmp_path / "packages.svg").read_text(encoding="utf-8")
    assert drawn == packages.FILE.read_text(encoding="utf-8"), "python -m tools.build.packages"
