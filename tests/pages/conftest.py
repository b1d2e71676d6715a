"""The built pages, read once, and one browser for all that open them."""

import sys

import pytest

from tests.helpers.needs import find_chromium, missing
from tests.helpers.said import pytest_terminal_summary as pytest_terminal_summary
from tests.helpers.said import say as say
from tools import ROOT
from tools.check import browser
from tools.check import pages as book

sys.path.insert(0, str(ROOT / "book" / "_ext"))  # as Sphinx does


def pytest_generate_tests(metafunc):
    """Give each page a test of its own, so that two workers share them evenly.

    index.html only leads to the first page. Listings of the library's source are alike: all
    but a few of them are slow, and none of them is a chapter.
    """
    names = [file.relative_to(book.SITE).as_posix() for file in book.files()]
    names = [name for name in names if name != "index.html"]
    listings = [name for name in names if name.startswith("_modules/")]
    if "chapter" in metafunc.fixturenames:
        metafunc.parametrize("chapter", [name for name in names if name not in listings])
    if "name" in metafunc.fixturenames:
        alike = {*listings} - {*listings[:: len(listings) // 3 or 1]}
        marks = {name: [pytest.mark.slow] if name in alike else [] for name in names}
        metafunc.parametrize("name", [pytest.param(n, marks=marks[n], id=n) for n in names])


@pytest.fixture(scope="session")
def site():
    if not (book.SITE / "index.html").exists():
        missing("no built book in _build/html: run `make book`")
    return book.SITE


@pytest.fixture(scope="session")
def pages(site):
    return book.read()


@pytest.fixture(scope="session")
def chapters(pages):
    """The pages that are made of a notebook."""
    return [page for page in pages.values() if page.name.startswith("notebooks/")]


@pytest.fixture(scope="session")
def chromium():
    with browser.launch(find_chromium("the pages were not opened in a browser")) as running:
        yield running


@pytest.fixture(scope="session")
def light(chromium):
    """Tabs of one desktop, in the light: what one page loads is kept for the next."""
    return chromium.new_context(viewport=browser.DESKTOP, color_scheme="light")


@pytest.fixture(scope="session")
def dark(chromium):
    """Tabs of one desktop, in the dark."""
    return chromium.new_context(viewport=browser.DESKTOP, color_scheme="dark")


@pytest.fixture(scope="session")
def served(site):
    with browser.serve(site) as address:
        yield address


@pytest.fixture(scope="module", params=["http", pytest.param("file", marks=pytest.mark.slow)])
def address(request, served):
    """Where the site is: at a host, and once a week in a folder."""
    return where(request.param, served)


@pytest.fixture(scope="module", params=["http", "file"])
def anywhere(request, served):
    """Where the site is: at a host, and in a folder."""
    return where(request.param, served)


def where(kind, served):
    return served if kind == "http" else book.SITE.as_uri()


@pytest.fixture
def tab(chromium, site):
    context = chromium.new_context(viewport=browser.DESKTOP)
    yield context.new_page()
    context.close()


@pytest.fixture
def alone(chromium):
    """A tab that no host answers; what the page asks for is kept."""
    context = chromium.new_context(viewport=browser.DESKTOP, offline=True)
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    yield page, asked
    context.close()
