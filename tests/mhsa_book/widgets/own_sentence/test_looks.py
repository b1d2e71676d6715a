"""How the figure looks and is heard once its model is there, and how long a reader waits."""

import pytest

from mhsa_book.widgets import OwnSentence
from tests.helpers.needs import missing
from tests.mhsa_book.widgets.conftest import allowed
from tests.mhsa_book.widgets.own_sentence.reader import WAIT, load, read
from tests.mhsa_book.widgets.test_figure import AXE
from tests.mhsa_book.widgets.test_names import IDS, nameless
from tests.mhsa_book.widgets.test_on_a_phone import CUT, PHONE

LONG_TASKS = """() => { window.long = []; new PerformanceObserver((list) =>
  long.push(...list.getEntries().map(({ duration }) => duration)),
).observe({ type: "longtask" }); }"""


def whole(page):
    """Everything that a reader can open, open."""
    page.get_by_role("button", name="layer 2, head 3", exact=True).last.click()
    for name in ("Which head turns it most?", "Which head changes this cosine most?"):
        page.get_by_role("button", name=name).click()
        page.get_by_role("table", name=name).wait_for(timeout=2 * WAIT)
    return page


@pytest.mark.parametrize(
    ("theme", "width"), [pytest.param("light", 1280, marks=pytest.mark.slow), ("dark", 390)]
)
def test_alive_it_fits_and_has_nothing_that_axe_finds(loaded, width, theme):
    if not AXE.exists():
        missing("no axe-core in node_modules: run `make vendored`")
    page = whole(
        loaded(OwnSentence("a cat", pair=("a cat", "a dog")), width=width, theme=theme)
    )
    page.add_script_tag(path=str(AXE))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    violations = page.evaluate("axe.run()")["violations"]
    assert [(v["id"], v["nodes"][0]["html"], v["help"]) for v in violations] == []
    count, without = nameless(page)
    assert count > 150  # 72 maps, 78 switches
    assert without == []
    found = page.evaluate(IDS)
    assert (found["twice"], found["strangers"]) == ([], [])


def test_on_a_phone_nothing_is_cut_without_a_sign(loaded):
    page = whole(loaded(OwnSentence("a cat", pair=("a cat", "a dog")), width=PHONE))
    for element, tab, role, label, hint in page.evaluate(CUT):
        assert (element, tab, role, hint) == ("mhsa-scroll", True, "group", True)
        assert label
    sizes = page.locator(".mhsa-switch").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect()).map((r) => [r.width, r.height])"
    )
    assert min(map(min, sizes)) >= 24


def test_the_tab_key_leads_through_all_of_it(loaded):
    page = loaded(OwnSentence())
    page.get_by_label("text", exact=True).focus()
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                """() => { const { activeElement: one } = document;
                return one.ariaLabel ?? one.labels?.[0]?.textContent ?? one.textContent; }"""
            )
        )
        if seen[-1] == "Which head changes this cosine most?":
            break
    for name in ("layer 0, all heads", "layer 0, head 0", "Which head turns it most?"):
        assert name in seen
    assert seen.index("first") < seen.index("second") < len(seen) - 1
    assert "layer 0, head 1" not in seen  # arrow keys lead there


def test_a_change_of_a_head_moves_nothing_else(loaded):
    page = loaded(OwnSentence())
    top = "document.querySelector('.mhsa-two').offsetTop"
    before = page.evaluate(top)
    page.get_by_role("button", name="layer 5, all heads", exact=True).click()
    page.get_by_text("Without 12 heads").wait_for(timeout=WAIT)
    assert page.evaluate(top) == before


def test_the_page_stays_smooth_while_the_model_works(open_figure, beside, report):
    page = open_figure(OwnSentence())
    page.evaluate(LONG_TASKS)
    load(page)
    page.wait_for_timeout(300)
    start = max(page.evaluate("long"), default=0)
    page.evaluate("long.length = 0")
    read(page, "word " * 62, 64)
    page.wait_for_timeout(300)
    after = max(page.evaluate("long"), default=0)
    report(
        f"own sentence: the page is busy for {start:.0f} ms at most while the model loads, "
        f"for {after:.0f} ms when 72 maps of 64 tokens come"
    )
    assert max(start, after) < allowed(page, 500)
