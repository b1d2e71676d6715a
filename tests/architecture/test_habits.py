"""Habits that break elsewhere: a machine's encoding, a default chosen by truth, wide lines."""

import ast
from pathlib import Path

from tests.architecture.library import MODULES, TEXTS, TREE, tree


def without_encoding(file: Path) -> list[str]:
    """Places that read or write text in whatever encoding the machine prefers."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func).rpartition(".")[2]
        given = {keyword.arg for keyword in node.keywords}
        modes = [a.value for a in node.args if isinstance(a, ast.Constant)]
        opens = called == "open" and any(mode in ("r", "w", "a", "x") for mode in modes)
        if (called in ("read_text", "write_text") or opens) and "encoding" not in given:
            found.append(f"{file}:{node.lineno}")
    return found


def test_text_is_read_and_written_as_utf_8_on_every_machine():
    assert [place for file in TEXTS for place in without_encoding(file)] == []


def chosen_by_truth(module: str) -> list[str]:
    """Values such as ``given or Default()``: an empty container given there is passed over."""
    return [
        ast.unparse(node)
        for node in ast.walk(tree(module))
        if isinstance(node, ast.BoolOp)
        and isinstance(node.op, ast.Or)
        and isinstance(node.values[0], ast.Name | ast.Attribute)
        and isinstance(node.values[-1], ast.Call)
        and ast.unparse(node.values[-1].func)[:1].isupper()
    ]


def test_a_default_part_stands_in_only_for_none():
    assert {m: found for m in MODULES if (found := chosen_by_truth(m))} == {}


SCRIPTS = sorted(
    script
    for folder in ("mhsa_lib", "mhsa_book", "tests", "_static")
    for script in (TREE / folder).rglob("*.*js")
)


def test_a_script_is_no_wider_than_a_screen():
    assert SCRIPTS
    wide = {
        script: line
        for script in SCRIPTS
        for line in script.read_text(encoding="utf-8").splitlines()
        if len(line) > 100
    }
    assert wide == {}
