"""Each example of *The ten things you call* runs in an empty namespace and prints its text."""

import contextlib
import io
import re

import pytest

from tools import ROOT

PAGE = (ROOT / "book" / "ten_things.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(
    r"^```python\n(.*?)^```$(?:\s+^```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE
)
SECTIONS = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
EXAMPLES = [
    pytest.param(code, text, id=section.split("`")[1])
    for section in SECTIONS
    for code, text in EXAMPLE.findall(section)
]


def test_there_are_ten_and_each_has_an_example():
    assert [section.partition(".")[0] for section in SECTIONS] == [*map(str, range(1, 11))]
    assert all(EXAMPLE.search(section) for section in SECTIONS)


@pytest.mark.parametrize(("code", "text"), EXAMPLES)
def test_an_example_runs_when_it_is_pasted(code, text):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "ten_things.md", "exec"), {"__name__": "__main__"})
    if text:
        assert printed.getvalue() == text
    else:  # what depends on the machine
        assert printed.getvalue().strip()
