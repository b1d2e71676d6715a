"""Examples in docstrings run as the API pages show them: with their imports, no other names."""

import doctest
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "book" / "_ext"))  # as Sphinx does
from import_lines import with_imports


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            test = item.dtest
            module = test.globs["__name__"]
            if module.startswith("mhsa_"):
                text = "\n".join(with_imports((test.docstring or "").splitlines(), module))
                parts = (text, {}, test.name, test.filename, test.lineno)
                item.dtest = doctest.DocTestParser().get_doctest(*parts)
