"""Twelve layers of twelve heads on 64 tokens do not let a reader wait."""

import pytest

from mhsa_book.widgets import HeadExplorer
from mhsa_book.widgets.head_explorer import head_explorer
from tests.mhsa_book.widgets.conftest import allowed, milliseconds
from tests.mhsa_book.widgets.head_explorer.random_heads import weights

CHANGE = """async ([place, options]) => {
  const select = document.querySelectorAll("select")[place];
  const times = [];
  for (let i = 0; i < 9; i += 1) {
    select.selectedIndex = options[i % options.length];
    const start = performance.now();
    select.dispatchEvent(new Event("change"));
    document.body.getBoundingClientRect();
    times.push(performance.now() - start);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  }
  return times.sort((a, b) => a - b)[4];
}"""
HOVER = """async () => {
  const grid = document.querySelector(".mhsa-cells");
  const times = [];
  for (let i = 0; i < 9; i += 1) {
    const box = grid.getBoundingClientRect();
    const place = { clientX: box.left + 120 + 20 * i, clientY: box.top + 120 + 15 * i };
    const start = performance.now();
    grid.dispatchEvent(new PointerEvent("pointermove", { ...place, bubbles: true }));
    document.body.getBoundingClientRect();
    times.push(performance.now() - start);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  }
  return times.sort((a, b) => a - b)[4];
}"""
BACK_AND_FORTH = ("ArrowRight", "ArrowLeft")


@pytest.fixture
def large_page(open_figure, monkeypatch):
    monkeypatch.setattr(head_explorer, "LIMIT", 10**8)
    tokens = ["[CLS]", *(f"word{i}" for i in range(62)), "[SEP]"]
    return open_figure(HeadExplorer(weights(12, 12, 64, 64), tokens))


@pytest.mark.parametrize(
    ("name", "act"),
    [
        ("head", lambda page: milliseconds(page, ".mhsa-heads", "keydown", BACK_AND_FORTH)),
        (
            "arrow key",
            lambda page: milliseconds(page, ".mhsa-cells", "keydown", BACK_AND_FORTH),
        ),
        ("hover", lambda page: page.evaluate(HOVER)),
        ("sort", lambda page: page.evaluate(CHANGE, [0, [1, 2, 3, 4]])),
        ("hide [CLS]", lambda page: milliseconds(page, ".mhsa-tokens input", "click")),
        ("direction", lambda page: page.evaluate(CHANGE, [2, [1, 0]])),
        ("heat map or lines", lambda page: page.evaluate(CHANGE, [1, [1, 0]])),
    ],
)
@pytest.mark.parametrize("compared", [pytest.param(False, marks=pytest.mark.slow), True])
def test_144_heads_of_64_tokens_answer_within_50_ms(large_page, report, name, act, compared):
    if compared:
        large_page.get_by_role("button", name="Compare L0H0").click()
        large_page.get_by_role("button", name="layer 6, head 6").click()
    # The best of three medians: other work on the machine is not the figure's.
    time = min(act(large_page) for _ in range(3))
    report(f"head explorer, 144 heads, 64 tokens, {1 + compared} large: {name} {time:.1f} ms")
    assert time < allowed(large_page, 50)
