"""How the translator looks once its model is there, and how long a reader waits."""

import pytest

from mhsa_book.widgets import TranslatorLab
from tests.helpers.needs import missing
from tests.mhsa_book.widgets.conftest import allowed
from tests.mhsa_book.widgets.test_figure import AXE
from tests.mhsa_book.widgets.translator_lab.reader import CROSS, load

LONGEST = "tekan ul balo ip goti kero ke rolan ip lari noso"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_alive_it_fits_and_has_nothing_that_axe_finds(loaded, width, theme):
    if not AXE.exists():
        missing("no axe-core in node_modules: run `make vendored`")
    page = loaded(TranslatorLab(LONGEST, off=CROSS), width=width, theme=theme)
    page.add_script_tag(path=str(AXE))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    violations = page.evaluate("axe.run()")["violations"]
    assert [(v["id"], v["nodes"][0]["html"], v["help"]) for v in violations] == []


TIMED = """async (selector) => {
  const times = [];
  const all = () => document.querySelectorAll(selector); // some are drawn anew
  for (let i = 0; i < all().length; i += 1) {
    const start = performance.now();
    all()[i].click();
    document.body.getBoundingClientRect();  // layout included
    times.push(performance.now() - start);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  }
  return times.sort((a, b) => a - b)[times.length >> 1];
}"""


def test_an_interaction_takes_less_than_50_ms(open_figure, beside, report):
    page = open_figure(TranslatorLab(LONGEST))
    page.evaluate("""() => { window.long = []; new PerformanceObserver((list) =>
      long.push(...list.getEntries().map(({ duration }) => duration)),
    ).observe({ type: "longtask" }); }""")
    load(page)
    page.wait_for_timeout(300)
    start = max(page.evaluate("long"), default=0)
    off = page.evaluate(TIMED, ".mhsa-card input")
    show = page.evaluate(TIMED, ".mhsa-small")
    word = page.evaluate(TIMED, ".mhsa-said-words button")
    report(
        f"translator: {off:.1f} ms to switch a head, {show:.1f} ms to show one, {word:.1f} ms "
        f"to choose a word; the longest task while it loads {start:.0f} ms"
    )
    assert max(off, show, word) < allowed(page, 50)
