"""The API pages: a name shows its import line, and an example needs no other name to run."""

import re

import pytest
from import_lines import lacking


@pytest.fixture(scope="module")
def entries(pages):
    """Every documented class and function: its page, its name and its entry."""
    return [
        (page.name, dt["id"], dt.parent)
        for page in pages.values()
        if page.name.startswith("book/api")
        for dt in page.soup.select("dl.py:is(.class, .function) > dt[id]")
    ]


def test_every_name_shows_its_import_line(entries):
    assert len(entries) > 300
    bare = [
        (page, name)
        for page, name, entry in entries
        if not re.fullmatch(
            rf"from mhsa_\w+(\.\w+)* import {name.rpartition('.')[2]}",
            line.get_text() if (line := entry.select_one(".book-import p")) else "",
        )
    ]
    assert bare == []


def test_every_example_has_all_that_it_uses(pages):
    count, found = 0, []
    for page in pages.values():
        if not page.name.startswith("book/api"):
            continue
        for body in page.soup.select("dl.py > dd"):
            shown = [
                block.get_text()
                for block in body.select("div.highlight pre")
                if block.find_parent("dd") is body
            ]
            lines = re.findall(r"^(?:>>>|\.\.\.) ?(.*)$", "\n".join(shown), re.MULTILINE)
            count += bool(lines)
            if missing := lacking("\n".join(lines), set()):
                found.append((page.name, body.parent.dt["id"], missing))
    assert count > 150
    assert found == []
