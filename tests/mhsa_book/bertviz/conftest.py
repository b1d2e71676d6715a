"""Chromium, and pages beside the vendored libraries for it to open."""

import functools
import http.server
import os
import shutil
import threading

import pytest

from tests.mhsa_book.bertviz.frames import ROOT


def missing(what):
    """Fail in CI; elsewhere skip, saying what was not there."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        missing("no chromium on this machine: BertViz was not opened in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium,
            args=[
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
            ],
        )
        yield browser
        browser.close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def vendor():
    """The folder of the libraries."""
    folder = ROOT / "vendor" / "vendor"
    if not folder.exists():
        missing("no vendored JavaScript: run `make book`")
    return folder


@pytest.fixture
def open_page(browser, vendor, tmp_path):
    """Return a function that opens HTML as a page beside vendor/, every other host blocked."""
    (tmp_path / "vendor").symlink_to(vendor)
    (tmp_path / "book").mkdir()
    handler = functools.partial(Quiet, directory=tmp_path)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    pages = []

    def visit(body, theme="light", width=1280):
        page = browser.new_page(color_scheme=theme, viewport={"width": width, "height": 720})
        pages.append(page)
        page.wrong = []
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on(
            "console", lambda m: m.type in ("error", "warning") and page.wrong.append(m.text)
        )
        page.on("requestfailed", lambda request: page.wrong.append(request.url))
        page.route("**/*", lambda route: go_on(route))
        head = '<!DOCTYPE html><meta charset="utf-8"><link rel="icon" href="data:,">'
        (tmp_path / "book" / "page.html").write_text(head + body, encoding="utf-8")
        page.goto(f"{base}/book/page.html")
        return page

    def go_on(route):
        local = route.request.url.startswith((base, "data:", "about:"))
        route.continue_() if local else route.abort()

    yield visit
    for page in pages:
        page.close()
    server.shutdown()
    server.server_close()


def pytest_collection_modifyitems(items):
    """Mark what opens Chromium, to be left out where mistakes are planted."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
