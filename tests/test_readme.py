"""The README's example prints what the README says, and what its table imports is there."""

import contextlib
import io
import re
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)
    assert found, f"README.md has no ```{language} block"
    return found[1]


def test_the_readme_prints_what_it_says():
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block("python"), "README.md", "exec"), {})
    assert printed.getvalue() == block("text")


def test_the_readme_names_the_two_commands_and_the_test_command():
    assert "make book" in block("sh")
    assert re.search(r"## Test it\s+```sh\nmake test\n```", README)


ROWS = re.findall(r"^\|.*?\| `(from .*?)` \| `(.*?)`", README, flags=re.MULTILINE)


@pytest.mark.parametrize(("line", "call"), ROWS, ids=[call for _, call in ROWS])
def test_what_the_table_imports_is_there_and_is_what_it_calls(line, call):
    found = {}
    exec(line, found)
    (name,) = found.keys() - {"__builtins__"}
    assert name in call or call == "make bench" or call.startswith("mha.to(")
    for chain in re.findall(rf"\b{name}((?:\.\w+)+)\(", call):
        part = found[name]
        for attribute in chain.split(".")[1:]:
            part = getattr(part, attribute)


def test_the_table_is_read_whole():
    table = README.partition("| you want |")[2].partition("\n\n")[0]
    assert len(ROWS) == len(table.splitlines()) - 2 > 10
