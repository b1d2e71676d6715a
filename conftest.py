"""Examples run as the API pages show them; at the end, how many tests each package passed."""

import doctest
import gc
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "book" / "_ext"))  # as Sphinx does
from import_lines import with_imports


def pytest_collection() -> None:
    """Look for no garbage while tests are found: what they are made of stays to the end."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage again, but never through all that."""
    gc.enable()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give an example in a docstring its imports, and take the names of its module from it."""
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            test = item.dtest
            module = test.globs["__name__"]
            if module.startswith("mhsa_"):
                text = "\n".join(with_imports((test.docstring or "").splitlines(), module))
                item.dtest = doctest.DocTestParser().get_doctest(
                    text, {}, test.name, test.filename, test.lineno
                )


@pytest.fixture(autouse=True)
def figures_are_closed() -> Iterator[None]:
    """Close what a test or an example drew: pyplot keeps figures, and warns at the 21st."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many tests passed for each package; with xdist, the controller has them all."""
    passed = Counter(package(report.nodeid) for report in terminalreporter.getreports("passed"))
    if len(passed) > 1:
        line = " · ".join(f"{name} {count:,}" for name, count in sorted(passed.items()))
        terminalreporter.write_line(f"passed: {line}")


def package(nodeid: str) -> str:
    """Which package a test is of: an example in its source, or a test in its mirror.

    >>> package("mhsa_lib/stages.py::mhsa_lib.stages.Split"), package("tests/mhsa_book/a.py::b")
    ('mhsa_lib', 'mhsa_book')
    >>> package("tests/test_readme.py::test_it"), package("tools/check/audit.py::audit")
    ('others', 'others')
    """
    folder = nodeid.removeprefix("tests/").partition("/")[0]
    return folder if folder.startswith("mhsa_") else "others"
