"""The API pages name what is there, and show where it is imported from."""

import re
from importlib import import_module

import pytest
from import_lines import defined, import_line

from tools import ROOT

PAGES = sorted((ROOT / "book").glob("api*.md"))
DIRECTIVE = re.compile(r"^\.\. auto(\w+):: ([\w.]+).*\n((?:   :.*\n)*)", re.MULTILINE)


def documented(text: str):
    """Yield the kind and the full name of everything a page documents by name."""
    for kind, name, options in DIRECTIVE.findall(text):
        yield kind, name
        for members in re.findall(r":members: (.+)", options):
            yield from (("member", f"{name}.{one}") for one in members.split(", "))


def found(name: str):
    """What a full name leads to; raises where it leads nowhere."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        try:
            thing = import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        for part in parts[n:]:
            thing = getattr(thing, part)
        return thing
    raise ModuleNotFoundError(name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_everything_a_page_names_is_there(page):
    names = [*documented(page.read_text(encoding="utf-8"))]
    assert names
    for _, name in names:
        found(name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_import_line_of_a_name_imports_it(page):
    for kind, name in documented(page.read_text(encoding="utf-8")):
        if kind in {"class", "function", "data"}:
            namespace, thing = {}, found(name)  # which imports its module, as Sphinx does
            exec(import_line(*defined(name)), namespace)
            assert namespace[name.rpartition(".")[2]] is thing
