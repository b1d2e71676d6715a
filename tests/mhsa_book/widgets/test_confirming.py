"""A number that is typed counts when it is confirmed, and Escape restores the old one."""

import pytest

from mhsa_book import widgets
from tests.mhsa_book.widgets.conftest import confirm
from tests.mhsa_book.widgets.dials import GPT2, exactly, sizes
from tests.mhsa_book.widgets.six_words import mask_lab

DIALS = {
    "ShapeTracer": (lambda: widgets.ShapeTracer(**GPT2), "n_heads", "10"),
    "HeadBudget": (lambda: widgets.HeadBudget(n_heads=32), "n_heads", "5"),
    "CacheCalculator": (widgets.CacheCalculator, "n_kv_heads", "16"),
    "CostLab": (widgets.CostLab, "batch", "12"),
    "ScaleLab": (widgets.ScaleLab, "d_head", "100"),
    "MaskLab": (lambda: mask_lab(kind="prefix"), "prefix", "1e9"),
}


@pytest.mark.parametrize("name", DIALS)
def test_a_number_counts_when_it_is_confirmed_and_escape_restores_it(open_figure, name):
    make, dial, text = DIALS[name]
    page = open_figure(make())
    field, body = exactly(page, dial), page.locator(".mhsa-body")
    old, before = field.input_value(), body.inner_text()
    field.fill("")
    page.keyboard.type(text)
    page.wait_for_timeout(300)
    assert body.inner_text() == before
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert (field.input_value(), body.inner_text()) == (old, before)
    confirm(field, "0")
    assert page.get_by_role("alert").inner_text() != ""
    page.keyboard.press("Escape")
    assert (field.input_value(), field.get_attribute("aria-invalid")) == (old, "false")
    assert body.inner_text() == before


def test_a_number_is_confirmed_when_the_reader_goes_on(open_figure):
    page = open_figure(widgets.ShapeTracer(**GPT2))
    exactly(page, "n_heads").fill("16")
    page.keyboard.press("Tab")
    assert sizes(page, "n_heads", "n_kv_heads", "d_head") == [16, 16, 48]


def test_typing_the_same_number_again_unsays_a_mistake(open_figure):
    page = open_figure(widgets.ShapeTracer())
    confirm(exactly(page, "seq"), "")
    confirm(exactly(page, "seq"), "6")
    assert page.get_by_role("alert").inner_text() == ""
    assert exactly(page, "seq").get_attribute("aria-invalid") == "false"
