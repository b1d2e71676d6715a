"""The built pages, read once, and opened once in a browser."""

import os
import shutil

import pytest

from tools import pages as book


def missing(what: str) -> None:
    """Fail in CI; elsewhere skip, saying what was not there."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def pages():
    if not (book.SITE / "index.html").exists():
        missing("no built book in _build/html: run `make book`")
    return book.read()


@pytest.fixture(scope="session")
def visits(pages):
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        missing("no chromium on this machine: the pages were not opened in a browser")
    return book.visit_all(chromium, [page.name for page in pages.values()])
