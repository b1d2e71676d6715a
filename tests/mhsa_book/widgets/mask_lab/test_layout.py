"""Any token is text; ink and touch targets can be seen and hit on a phone."""

import pytest
import torch

from mhsa_book.widgets import MaskLab
from tests.mhsa_book.widgets.mask_lab.grid import whole
from tests.mhsa_book.widgets.six_words import mask_lab

BAD = ["<img src=x onerror=alert(1)>", '"', "שלום", "e\u0301", "👩‍👩‍👧", "", "x" * 1000]


def test_a_readers_words_are_data_and_nothing_else():
    html = MaskLab(torch.zeros(1, 7, 7), BAD).html()
    assert "<img src=x" not in html
    assert len(html) < 200_000


SIZES = """all => all.map((one) => {
  const { width, height } = one.getBoundingClientRect();
  return [width, height];
})"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_any_token_is_text_and_nothing_runs_off_a_phone(open_figure, theme):
    page = open_figure(MaskLab(torch.zeros(1, 7, 7), BAD), width=390, theme=theme)
    assert page.locator("img").count() == 0
    rows = page.get_by_role("table", name="Mask", exact=True).locator("tr")
    names = [rows.nth(i + 1).locator("button").first.inner_text() for i in range(7)]
    assert names[0] == "<img src=x …"
    assert names[5:] == ["(blank)", "x" * 11 + "…"]
    whole(page, "all pairs").click()
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_ink_can_be_told_from_paper_in_both_themes(open_figure):
    for theme in ("light", "dark"):
        page = open_figure(mask_lab(), theme=theme)
        colours = page.evaluate(
            "() => ['true', 'false'].map((on) => getComputedStyle(document.querySelector("
            "`.mhsa-paint [aria-pressed=${on}]`)).backgroundColor)"
        )
        assert colours[0] != colours[1]


def test_touch_targets_are_large_enough_on_a_phone(open_figure):
    page = open_figure(MaskLab(torch.zeros(1, 8, 8), ["word"] * 8), width=390)
    sizes = page.locator(".mhsa-paint button").evaluate_all(SIZES)
    assert len(sizes) > 64
    assert min(map(min, sizes)) >= 24
