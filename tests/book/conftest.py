"""The built pages, read once, and one browser for all that open them."""

import sys

import pytest

from tests.needs import find_chromium, missing
from tools import ROOT, browser
from tools import pages as book

sys.path.insert(0, str(ROOT / "book" / "_ext"))  # as Sphinx does


@pytest.fixture(scope="session")
def pages():
    if not (book.SITE / "index.html").exists():
        missing("no built book in _build/html: run `make book`")
    return book.read()


@pytest.fixture(scope="session")
def names(pages):
    """The pages to open; index.html only leads to the first of them."""
    return [page.name for page in pages.values() if page.name != "index.html"]


@pytest.fixture(scope="session")
def chapters(pages):
    """The pages that are made of a notebook."""
    return [page for page in pages.values() if page.name.startswith("notebooks/")]


@pytest.fixture(scope="session")
def chromium():
    with browser.launch(find_chromium("the pages were not opened in a browser")) as running:
        yield running


@pytest.fixture(scope="session")
def served():
    with browser.serve(book.SITE) as address:
        yield address


@pytest.fixture(scope="session")
def over_http(names, chromium, served):
    """Visit every page over http, in the light."""
    context = chromium.new_context(viewport=browser.DESKTOP, color_scheme="light")
    return [browser.visit(context, served, name) for name in names]


@pytest.fixture(scope="session")
def from_file(names, chromium):
    """Visit every page as a file, in the dark."""
    context = chromium.new_context(viewport=browser.DESKTOP, color_scheme="dark")
    return [browser.visit(context, book.SITE.as_uri(), name) for name in names]


@pytest.fixture(scope="session", params=["over_http", "from_file"])
def visits(request):
    """All visits, one way after the other."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def say(record_property):
    """Lines for the end of the run, which are shown when the test passes too."""

    def lines(title, rows):
        record_property("said", [title, *rows])

    return lines


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, (title, *rows) in report.user_properties:
            if name == "said" and report.when == "call":
                terminalreporter.section(title)
                for row in rows:
                    terminalreporter.write_line(row)
