"""It fits every page and paper, and lets no reader wait."""

import pytest
import torch
from playwright.sync_api import expect

from mhsa_book.widgets import StageStepper
from mhsa_book.widgets.stage_stepper import STEPS
from tests.mhsa_book.widgets.conftest import allowed, milliseconds
from tests.mhsa_book.widgets.stage_stepper.drawn_steppers import drawn
from tests.mhsa_book.widgets.stage_stepper.sheet import step


@pytest.mark.parametrize(
    ("width", "theme"), [(390, "dark"), (768, "light"), (1280, "dark"), (1920, "light")]
)
def test_it_fits_its_page(open_figure, width, theme):
    big = drawn(4, 6, 3, 2)
    big.x = (torch.tensor(big.x).sign() * 99.9375).tolist()
    page = open_figure(big, width=width, theme=theme)
    for name in STEPS:
        step(page, name)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        inside = page.locator(".mhsa-sheet").evaluate_all(
            "sheets => Math.max(...sheets.map(s => s.getBoundingClientRect().right))"
        )
        assert inside <= width
    sizes = page.locator("td").evaluate_all(
        "e => e.map(t => t.getBoundingClientRect().toJSON())"
    )
    assert min(min(size["width"], size["height"]) for size in sizes) >= 23.5


def test_paper_shows_the_step_without_its_controls(open_figure):
    page = open_figure(StageStepper(step="scale"))
    page.emulate_media(media="print")
    assert not page.get_by_role("button", name="Next").is_visible()
    expect(page.get_by_role("status")).to_have_text("scores[0, 0, 0] = 0.725 / √2 = 0.5127")
    assert page.locator(".mhsa-bar").evaluate("e => getComputedStyle(e).position") == "static"


HOVER = """() => {
  const cells = [...document.querySelectorAll("td[data-place^='y ']")];
  const times = cells.map((td) => {
    const start = performance.now();
    td.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    document.body.getBoundingClientRect();
    return performance.now() - start;
  });
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
}"""


def test_an_interaction_takes_less_than_50_ms(open_figure, report):
    page = open_figure(drawn(4, 6, 3, 2))
    step(page, "W_O")
    pointing = page.evaluate(HOVER)
    toggling = milliseconds(page, "[data-place='mask 0 1']", "click")
    stepping = milliseconds(page, ".mhsa-steps button", "click")
    times = f"{pointing:.1f} ms to point, {toggling:.1f} ms to recompute"
    report(f"stage stepper, 4 tokens of 6: {times}")
    assert max(pointing, toggling, stepping) < allowed(page, 50)
