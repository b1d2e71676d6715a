"""Nobody takes the function ``trace`` for the package of that name."""

import json
import re
from pathlib import Path

import pytest

from tests.architecture.library import TEXTS, TREE

# The function and the package share a name, and the attribute of mhsa_lib is the function.
AS_A_PACKAGE = re.compile(r"import mhsa_lib\.trace\b|(?<!from )\bmhsa_lib\.trace\.\w")
PROSE = [TREE / "README.md", TREE / "CONTRIBUTING.md", *sorted((TREE / "book").glob("*.md"))]
NOTEBOOKS = sorted((TREE / "notebooks").glob("*.ipynb"))


def lines_of(file: Path) -> list[str]:
    """Python's own, the cells of a notebook, a page without what Sphinx reads as a path."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".ipynb":
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return [line for line in text.splitlines() if not line.startswith(".. auto")]


def takes_trace_for_a_package(lines: list[str]) -> list[str]:
    return [line for line in lines if AS_A_PACKAGE.search(line)]


def test_nobody_takes_trace_for_a_package():
    files = [*TEXTS, *NOTEBOOKS, *PROSE]
    assert [file for file in files if takes_trace_for_a_package(lines_of(file))] == []


@pytest.mark.parametrize("line", ["import {}", "import {}.wires as w", "x = {}.wires.trace(m)"])
def test_who_takes_trace_for_a_package_is_noticed(line):
    assert takes_trace_for_a_package([line.format("mhsa_lib." + "trace")])


@pytest.mark.parametrize("line", ["from {}.wires import trace", "with {}(mha) as wires:"])
def test_who_takes_trace_for_what_it_is_is_not(line):
    assert not takes_trace_for_a_package([line.format("mhsa_lib." + "trace")])
