"""A cell tagged `check` is folded under one word, and fails where the text is false."""

import ast

import pytest

from tools.build.notebooks import code_cells, tags

FORM = {
    "tags": ["check", "hide-cell"],
    "mystnb": {"code_prompt_show": "Check", "code_prompt_hide": "Check"},
}


def checks(notebook):
    return [cell for cell in code_cells(notebook) if "check" in tags(cell)]


def can_fail(code):
    """Whether the code asserts something that could be otherwise, itself or by a function."""
    nodes = list(ast.walk(ast.parse(code)))
    asserted = [node.test for node in nodes if isinstance(node, ast.Assert)]
    called = [
        ast.unparse(node.func).split(".")[-1] for node in nodes if isinstance(node, ast.Call)
    ]
    return any(not isinstance(test, ast.Constant) for test in asserted) or any(
        name.startswith("assert_") for name in called
    )


def test_a_check_is_folded_under_its_name(notebook):
    poor = [
        (cell.id, metadata)
        for cell in checks(notebook)
        if (metadata := {key: cell.metadata[key] for key in sorted(cell.metadata)}) != FORM
    ]
    assert poor == []


def test_a_check_asserts_something(notebook):
    assert [cell.id for cell in checks(notebook) if not can_fail(cell.source)] == []


def test_a_cell_that_is_folded_whole_is_a_check(notebook):
    folded = [cell for cell in code_cells(notebook) if "hide-cell" in tags(cell)]
    assert [cell.id for cell in folded if "check" not in tags(cell)] == []


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("assert a > 2", True),
        ("assert True", False),
        ("print(1)", False),
        ("a == b", False),
        ("torch.testing.assert_close(a, b)", True),
    ],
)
def test_what_counts_as_an_assertion(code, expected):
    assert can_fail(code) is expected
