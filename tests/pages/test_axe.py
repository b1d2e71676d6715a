"""Each page over http, all other hosts blocked: whole, judged by axe-core, and not too wide.

Every page is opened, with its answers open, and half of them are judged by axe-core, on a light
desktop or on a dark phone, and one page of the API; three pages in both colours of both
layouts, code and formulas too. These have thousands of pieces and look the same everywhere:
elsewhere they are made one piece and left out. `make slow` lets axe read all of all pages, both
ways.
"""

from zlib import crc32

import pytest

from tests.pages.whole import wrong
from tools import ROOT
from tools.check.browser import DESKTOP, PHONE, TABLET, WIDE, visit

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
# Rules of the stock theme that the project cannot satisfy, each with its reason. None is left.
ALLOWED: dict[str, str] = {}

OPEN = "document.querySelectorAll('details').forEach(d => { d.open = true; })"
SHOW = "document.querySelectorAll('.toggle-hidden .toggle-button').forEach(b => b.click())"
FOUR_WAYS = ["book/intro.html", "notebooks/05_attend.html", "search.html"]
WAYS = (DESKTOP, "light"), (PHONE, "dark")
SOME = [WAYS[:1], WAYS[1:], (), ()]
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
JUDGE = """async (left_out) => {
  const page = {include: document, exclude: left_out};
  const found = await axe.run(page, {resultTypes: ['violations']});
  return found.violations.map(v => [v.id, v.nodes.length, String(v.nodes[0].target)]);
}"""


def judge(tab, size, colours, left_out=()):
    tab.set_viewport_size(size)
    tab.emulate_media(color_scheme=colours)
    tab.wait_for_function(f"document.documentElement.dataset.theme === '{colours}'")
    tab.evaluate(DRAWN)  # frames that scroll now can be reached by keyboard
    where = f"{colours} {size['width']}"
    return [
        f"{where}: {rule} × {count}, first {target}"
        for rule, count, target in tab.evaluate(JUDGE, [*left_out])
        if rule not in ALLOWED
    ]


CUT = """(printed) => [...document.querySelectorAll(`div.cell ${printed} pre`)]
  .filter(pre => pre.checkVisibility() && pre.scrollWidth > pre.clientWidth + 1)
  .map(pre => pre.textContent.slice(0, 60))"""


REPEATED = """() => {
  const ids = [...document.querySelectorAll('[id]')].map(place => place.id);
  return [...new Set(ids.filter((id, i) => ids.indexOf(id) < i))];
}"""
IN_ONE_PIECE = """() => {
  for (const code of document.querySelectorAll('.highlight pre')) code.textContent += '';
  for (const formula of document.querySelectorAll('mjx-container')) formula.replaceChildren();
}"""
NARROW = {"width": 320, "height": 568}


def too_wide(tab):
    found = []
    for size in (DESKTOP, WIDE, TABLET, PHONE, NARROW):
        tab.set_viewport_size(size)
        width = tab.evaluate("document.documentElement.scrollWidth")
        if width > size["width"] + 1:
            found.append(f"{size['width']}: {width - size['width']} px too wide")
        # On a phone printed columns may scroll.
        printed = ".cell_input" if size in (PHONE, NARROW) else ""
        found += [f"{size['width']}: cut {text!r}" for text in tab.evaluate(CUT, printed)]
    return found


def opened(tab):
    """Open all answers of a page, and take axe-core along."""
    tab.emulate_media(reduced_motion="reduce")
    tab.evaluate(OPEN)
    tab.evaluate(SHOW)
    for frame in tab.frames:
        frame.evaluate(AXE.read_text(encoding="utf-8"))


def judged(tab, name):
    """What axe says of an open page, and at which widths it scrolls sideways."""
    opened(tab)
    faults = too_wide(tab)
    faults += [f"id {id!r} stands twice" for id in tab.evaluate(REPEATED)]
    ways, alike = [*WAYS, (PHONE, "light"), (DESKTOP, "dark")], []
    if name not in FOUR_WAYS:
        ways, alike = SOME[crc32(name.encode()) % 4], [".highlight", "mjx-container"]
        if name.startswith("book/api"):
            ways = WAYS if name == "book/api_figures.html" else ()
        tab.evaluate(IN_ONE_PIECE)  # axe walks through what it leaves out as well
    return faults + [fault for way in ways for fault in judge(tab, *way, alike)]


def test_a_page_over_http_is_whole_accessible_and_fits_its_screen(name, light, served, say):
    faults = []
    seen = visit(light, served, name, look=lambda tab: faults.extend(judged(tab, name)))
    if seen.figures:
        say("Live figures: alive, of all", [f"{seen.alive:2} of {seen.figures:2}  {name}"])
    assert wrong(seen) == []
    assert faults == []


@pytest.mark.slow
def test_the_code_and_formulas_of_a_page_are_accessible_too(chapter, light, served):
    faults = []

    def look(tab):
        opened(tab)
        faults.extend(fault for way in WAYS for fault in judge(tab, *way))

    visit(light, served, chapter, look)
    assert faults == []


def test_axe_would_find_a_fault(chromium, served):
    tab = chromium.new_page()
    tab.goto(f"{served}/book/intro.html", wait_until="load")
    tab.evaluate(AXE.read_text(encoding="utf-8"))
    tab.evaluate("document.querySelector('article').append(document.createElement('button'))")
    assert "button-name" in [rule for rule, *_ in tab.evaluate(JUDGE, [])]
    tab.close()
