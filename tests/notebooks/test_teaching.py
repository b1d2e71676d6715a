"""What Parts I and II owe a reader: numbers that are shown, on a page that holds them."""

import ast
import re

import pytest

from tests.notebooks.conftest import is_chapter, read
from tests.notebooks.test_style import HIDDEN, between, imports, markdown, reader_cells
from tools.build.notebooks import code_cells, notebooks, tags

FIRST_PARTS = [path for path in notebooks() if is_chapter(path) and not "10" <= path.stem < "p"]
APPENDIX = [path for path in notebooks() if not is_chapter(path)]
BOX = re.compile(r"^:::+\{admonition\} (.+)$", re.MULTILINE)
COLUMNS = 88  # as many as a page of 1280 px shows


def is_only_checked(source):
    """Whether a cell does nothing but assert."""
    return all(isinstance(node, ast.Assert) for node in ast.parse(source).body)


def shown(notebook):
    """The code cells that a reader sees: exercises, imports and hidden cells left out."""
    apart = [
        cell.id
        for kind in ("exercise", "solution")
        for cells in between(notebook, f"{kind}-start", f"{kind}-end")
        for cell in cells
    ]
    return [
        cell
        for cell in reader_cells(notebook)
        if not tags(cell) & HIDDEN and cell.id not in apart and not imports(cell)
    ]


@pytest.mark.parametrize("path", FIRST_PARTS, ids=lambda path: path.stem)
def test_no_cell_in_view_does_nothing_but_assert(path):
    cells = shown(read(path))
    assert [cell.id for cell in cells if is_only_checked(cell.source)] == []


@pytest.mark.parametrize("path", FIRST_PARTS + APPENDIX, ids=lambda path: path.stem)
def test_nothing_is_wider_than_the_page(path):
    notebook = read(path)
    code = [line for cell in code_cells(notebook) for line in cell.source.splitlines()]
    printed = [
        line
        for cell in code_cells(notebook)
        for out in cell.outputs
        if "text/html" not in out.get("data", {})
        for line in (out.get("text") or out.get("data", {}).get("text/plain", "")).splitlines()
    ]
    assert [line for line in code if len(line) > COLUMNS] == []
    assert [line for line in printed if len(line) > COLUMNS] == []


@pytest.mark.parametrize("path", FIRST_PARTS, ids=lambda path: path.stem)
def test_a_chapter_closes_with_what_to_remember_in_a_box(path):
    boxes = BOX.findall(markdown(read(path)))
    assert "Remember" in boxes
