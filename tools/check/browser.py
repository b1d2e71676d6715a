"""Open the built pages in Chromium, over http or from files, with other hosts out of reach."""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ViewportSize, sync_playwright
from playwright.sync_api import TimeoutError as TooLate

CHROMIUM = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost",
]
PHONE: ViewportSize = {"width": 390, "height": 844}
TABLET: ViewportSize = {"width": 768, "height": 1024}
DESKTOP: ViewportSize = {"width": 1280, "height": 900}
WIDE: ViewportSize = {"width": 1920, "height": 1080}
PATIENCE = 5_000  # milliseconds for a picture that is drawn after the page has loaded

SETTLED = """async () => {
  if (window.MathJax?.startup) await MathJax.startup.promise;
  await document.fonts.ready;
}"""
DRAWN = "document.querySelectorAll('[data-mhsa-figure]:not([data-mhsa-alive])').length === 0"
FORMULAS = "span.math, div.math"
TYPESET = ".math mjx-container:not(:has(mjx-merror))"


@dataclass
class Visit:
    """What the browser saw while it opened one page."""

    name: str
    console: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)  # addresses of other hosts
    failed: list[str] = field(default_factory=list)  # files that are not there
    formulas: int = 0
    typeset: int = 0
    figures: int = 0
    alive: int = 0
    views: list[int] = field(default_factory=list)  # per BertViz view, the marks it has drawn
    text: str = ""

    @property
    def complaints(self) -> list[str]:
        """Everything that is wrong, in words; an empty list means nothing."""
        found = [f"asked {url}" for url in self.asked]
        found += [f"failed {url}" for url in self.failed]
        found += self.console
        if self.typeset != self.formulas:
            found.append(f"{self.typeset} of {self.formulas} formulas typeset")
        if self.alive != self.figures:
            found.append(f"{self.alive} of {self.figures} live figures alive")
        found += [f"a BertViz view drew {n} marks" for n in self.views if n < 10]
        return [f"{self.name}: {line}" for line in found]


class Quiet(SimpleHTTPRequestHandler):
    """A file server that writes no log."""

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""


@contextmanager
def serve(site: Path) -> Iterator[str]:
    """Serve a folder on a free port and give its address."""
    handler = functools.partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("localhost", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


@contextmanager
def launch(chromium: str) -> Iterator[Browser]:
    """Start Chromium, and end it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM)
        yield browser
        browser.close()


def settle(tab: Any) -> None:
    """Wait until formulas, letters and figures are drawn, or clearly never will be."""
    tab.evaluate(SETTLED)
    try:
        tab.wait_for_function(DRAWN, timeout=PATIENCE)
    except TooLate:
        return  # the counts of the visit will say so


def marks(frame: Any) -> int:
    """Count what a BertViz view has drawn."""
    try:
        frame.wait_for_selector("svg :is(line, path, rect)", state="attached", timeout=PATIENCE)
    except TooLate:
        return 0
    return int(frame.locator("svg :is(line, path, rect)").count())


def listen(tab: Any, result: Visit, address: str) -> None:
    """Write down what a tab asks for, what it does not get, and what it complains of."""

    def note(request: Any) -> None:
        if not request.url.startswith((address, "data:", "blob:")):
            result.asked.append(request.url)

    def miss(response: Any) -> None:
        # A browser asks for this by itself; the pages name their icon.
        if response.status >= 400 and not response.url.endswith("/favicon.ico"):
            result.failed.append(f"{response.url} ({response.status})")

    def hear(message: Any) -> None:
        by_itself = message.location.get("url", "").endswith("/favicon.ico")
        if message.type in {"error", "warning"} and not by_itself:
            result.console.append(f"{message.type}: {message.text}")

    def lose(request: Any) -> None:
        # What is still on its way when a page is left is broken off; nothing is missing then.
        if request.failure != "net::ERR_ABORTED":
            result.failed.append(request.url)

    tab.on("request", note)
    tab.on("response", miss)
    tab.on("requestfailed", lose)
    tab.on("console", hear)
    tab.on("pageerror", lambda error: result.console.append(f"uncaught: {error}"))


def visit(
    context: Any, address: str, name: str, look: Callable[[Any], None] | None = None
) -> Visit:
    """Open one page and look at it; ``look`` is given the tab before it is closed."""
    result = Visit(name)
    tab = context.new_page()
    listen(tab, result, address)
    tab.goto(f"{address}/{name}", wait_until="load")
    settle(tab)
    result.formulas = tab.locator(FORMULAS).count()
    result.typeset = tab.locator(TYPESET).count()
    result.figures = tab.locator("[data-mhsa-figure]").count()
    result.alive = tab.locator("[data-mhsa-figure][data-mhsa-alive]").count()
    result.views = [marks(frame) for frame in tab.frames if frame != tab.main_frame]
    result.text = tab.locator("body").inner_text()
    if look is not None:
        look(tab)
    tab.close()
    return result
