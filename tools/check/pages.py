"""Read the built pages as files; `tools/check/browser.py` opens them."""

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup

from tools import ROOT

SITE = ROOT / "_build" / "html"
COLOURED = re.compile(r'<span class="\w{1,2}">([^<]*)</span>')
"""A word of code in a colour: three of four elements of all pages."""
NOT_PAGES = {"_static", "_sources", "_images", "vendor", "_sphinx_design_static"}


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


def files() -> list[Path]:
    """Return the file of every page of the built book, in order; what has moved is no page."""
    found = [f for f in SITE.rglob("*.html") if f.relative_to(SITE).parts[0] not in NOT_PAGES]
    return sorted(f for f in found if f.stat().st_size > 2_000 or f.name == "index.html")


def read() -> dict[Path, Page]:
    """Return every page of the built book, by its file; code stands there without colours."""
    texts = {file: file.read_text(encoding="utf-8") for file in files()}
    return {
        file: Page(file, BeautifulSoup(COLOURED.sub(r"\1", text), "lxml"))
        for file, text in texts.items()
    }
