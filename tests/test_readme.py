"""The README's eight lines run, and print what the README says they print."""

import contextlib
import io
import re
from pathlib import Path

from mhsa_lib.variants import GroupedQueryAttention

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


def test_the_call_that_shows_what_a_variant_changes_runs():
    row = re.search(r"^\| what it changes \| (.*) \|$", README, flags=re.MULTILINE)
    assert row
    *imports, call = re.findall(r"`([^`]+)`", row[1])
    names = {"attention": GroupedQueryAttention(12, 6, 2)}
    exec("\n".join(imports), names)
    assert "split" in eval(call, names)._repr_html_()
