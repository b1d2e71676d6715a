"""Read the built pages, and open them in Chromium with every other host out of reach."""

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup
from playwright.sync_api import ViewportSize, sync_playwright

from tools import ROOT

SITE = ROOT / "_build" / "html"
NOT_PAGES = {"_static", "_sources", "_images", "vendor", "_sphinx_design_static"}
CHROMIUM = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost",
]
PHONE: ViewportSize = {"width": 390, "height": 844}
DESKTOP: ViewportSize = {"width": 1280, "height": 900}


@dataclass
class Page:
    """One built page as a file."""

    path: Path
    soup: BeautifulSoup

    @property
    def name(self) -> str:
        return self.path.relative_to(SITE).as_posix()

    @property
    def links(self) -> list[str]:
        tags = self.soup.find_all(href=True) + self.soup.find_all(src=True)
        return [str(tag.get("href") or tag["src"]) for tag in tags]

    @functools.cached_property
    def anchors(self) -> set[str]:
        return {str(tag["id"]) for tag in self.soup.find_all(id=True)}

    def target(self, link: str) -> tuple[Path, str] | None:
        """Return the file and anchor that a link inside the site names; None for others."""
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            return None
        file = (self.path.parent / unquote(parts.path)).resolve() if parts.path else self.path
        return file, unquote(parts.fragment)


def read() -> dict[Path, Page]:
    """Return every page of the built book, by its file."""
    files = [f for f in SITE.rglob("*.html") if f.relative_to(SITE).parts[0] not in NOT_PAGES]
    return {f: Page(f, BeautifulSoup(f.read_text(), "html.parser")) for f in sorted(files)}


@dataclass
class Visit:
    """What the browser saw while it opened one page."""

    name: str
    console: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)  # addresses of other hosts
    formulas: int = 0
    typeset: int = 0
    text: str = ""
    sideways: int = 0  # pixels by which the page is wider than a phone


class Quiet(SimpleHTTPRequestHandler):
    """A file server that writes no log."""

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""


@contextmanager
def serve() -> Iterator[str]:
    """Serve the built book on a free port and give its address."""
    handler = functools.partial(Quiet, directory=str(SITE))
    with ThreadingHTTPServer(("localhost", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


def visit_all(chromium: str, names: list[str]) -> list[Visit]:
    """Open every page once."""
    with serve() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM)
        context = browser.new_context(viewport=DESKTOP)
        return [visit(context, address, name) for name in names]


def visit(context: Any, address: str, name: str) -> Visit:
    """Open one page on a desktop, then narrow it to a phone."""
    result = Visit(name)
    tab = context.new_page()

    def note(request: Any) -> None:
        if not request.url.startswith((address, "data:", "blob:")):
            result.asked.append(request.url)

    def listen(message: Any) -> None:
        by_itself = message.location.get("url", "").endswith("/favicon.ico")
        if message.type in {"error", "warning"} and not by_itself:
            result.console.append(f"{message.type}: {message.text}")

    tab.on("request", note)
    tab.on("console", listen)
    tab.on("pageerror", lambda error: result.console.append(f"uncaught: {error}"))
    tab.goto(f"{address}/{name}", wait_until="networkidle")
    result.formulas = tab.locator("span.math, div.math").count()
    if result.formulas:
        tab.evaluate("window.MathJax && MathJax.startup && MathJax.startup.promise")
    result.typeset = tab.locator(".math mjx-container:not(:has(mjx-merror))").count()
    result.text = tab.locator("body").inner_text()
    tab.set_viewport_size(PHONE)
    width = tab.evaluate("document.documentElement.scrollWidth")
    result.sideways = max(0, width - PHONE["width"])
    tab.close()
    return result
