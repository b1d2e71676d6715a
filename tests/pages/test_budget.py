"""What a page weighs: our own JavaScript, the data of its figures, and the page itself."""

import re

from tools import ROOT
from tools.check.pages import SITE

# 64,000 until chapter 11 had all heads, and a real model to switch them off in, on one page;
# 78,000 until what loads a model could be cancelled, and kept by the browser.
OWN_SCRIPTS = 80_000  # bytes of our JavaScript on a page
FIGURE_DATA = 200_000  # bytes of data in one figure
WHOLE_PAGE = 600_000  # bytes of HTML
ALL_PAGES = ["views", "kept", "figures", "progress"]  # scripts loaded once for the book
ONCE = 18_000  # their bytes, all together


def size(text):
    return len(text.encode())


def own_scripts(page):
    """Bytes of the pieces of figures, and of our first script that every page loads."""
    pieces = page.soup.find_all("script", attrs={"data-mhsa-piece": True})
    loaded = [SITE / "_static" / "book.js"]
    return sum(size(s.text) for s in pieces) + sum(f.stat().st_size for f in loaded)


def figure_data(page):
    """Bytes of the heaviest figure's data, 0 where there is none."""
    found = page.soup.select('.mhsa-figure script[type="application/json"]')
    return max((size(script.text) for script in found), default=0)


def weights(pages):
    return {p.name: (own_scripts(p), figure_data(p), p.path.stat().st_size) for p in pages}


def test_every_page_stays_within_its_budget(pages, say):
    table = weights(pages.values())
    limits = (OWN_SCRIPTS, FIGURE_DATA, WHOLE_PAGE)
    rows = [f"{'own JS':>7} {'data':>7} {'HTML':>7}", "{:7} {:7} {:7}  limit".format(*limits)]
    rows += [
        f"{a:7} {b:7} {c:7}  {name}"
        for name, (a, b, c) in table.items()
        if not name.startswith("_modules")
    ]
    say("Bytes per page", rows)
    heavy = {
        name: found
        for name, found in table.items()
        if any(a > b for a, b in zip(found, limits, strict=True))
    }
    assert heavy == {}


def test_what_is_loaded_once_for_the_book_stays_within_its_budget(pages, say):
    took = sum((SITE / "_static" / f"{name}.js").stat().st_size for name in ALL_PAGES)
    say("Bytes of scripts for all pages", [f"{took}, limit {ONCE}"])
    assert took <= ONCE
    assert {f"{name}.js" for name in [*ALL_PAGES, "book", "tables"]} == {
        file.name for file in (ROOT / "_static").glob("*.js")
    }


def test_every_piece_of_code_is_on_its_page_once(pages):
    twice = []
    for page in pages.values():
        keys = re.findall(
            r'<(\w+)[^>]*\sdata-mhsa-piece="([^"]+)"', page.path.read_text(encoding="utf-8")
        )
        twice += [f"{page.name}: {key}" for key in set(keys) if keys.count(key) > 1]
    assert twice == []


def test_every_figure_finds_its_code_on_its_page(pages):
    missing = []
    for page in pages.values():
        there = {s["data-mhsa-piece"] for s in page.soup.select("script[data-mhsa-piece]")}
        for figure in page.soup.select("[data-mhsa-figure]"):
            missing += [
                f"{page.name}: {key}"
                for key in str(figure["data-mhsa-figure"]).split()
                if key not in there
            ]
    assert missing == []
