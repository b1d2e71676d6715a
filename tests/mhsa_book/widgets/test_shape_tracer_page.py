"""A reader at the dials of the shape tracer."""

import pytest
from playwright.sync_api import expect

from mhsa_book.widgets import ShapeTracer
from mhsa_lib import checks
from mhsa_lib.tracing.drawing import short
from tests.mhsa_book.widgets.conftest import allowed, confirm, milliseconds, without_advice
from tests.mhsa_book.widgets.library_words import words_of


def rows_of(page):
    texts = """rows => rows.map((row) => [
      row.querySelector("th code").innerText,
      [...row.querySelectorAll("td")].map((td) => td.innerText)])"""
    return dict(page.locator(".mhsa-shape-tracer tbody tr").evaluate_all(texts))


def dial(page, name: str):
    return page.get_by_label(name, exact=True)


def exactly(page, name: str):
    return page.get_by_label(f"{name}, exactly")


def test_typing_a_size_changes_every_row(open_figure):
    page = open_figure(ShapeTracer(batch=2, seq=6, d_model=12, n_heads=3))
    confirm(exactly(page, "seq"), "100")
    rows = rows_of(page)
    assert rows["weights"][0] == "batch 2 head 3 query 100 key 100"
    assert rows["weights"][3] == short(2 * 3 * 100 * 100 * 4)
    said = page.get_by_role("status")
    expect(said).to_contain_text("100 × 100 numbers for each of 2 × 3 heads")


def test_arrow_keys_go_to_the_next_power_of_two_and_what_was_given_stays_a_stop(open_figure):
    page = open_figure(ShapeTracer(batch=2, seq=6, d_model=12, n_heads=3))
    dial(page, "seq").focus()
    keys = ["Right", "Right", "Left", "Left", "Left", "Left"]
    seen = [press(page, f"Arrow{key}", "seq") for key in keys]
    assert seen == ["8", "16", "8", "6", "4", "2"]
    confirm(exactly(page, "seq"), "1000")
    exactly(page, "seq").press("ArrowUp")  # in the field as well
    assert exactly(page, "seq").input_value() == "1024"
    exactly(page, "seq").press("ArrowDown")
    assert exactly(page, "seq").input_value() == "1000"


def press(page, key: str, name: str) -> str:
    page.keyboard.press(key)
    return exactly(page, name).input_value()


def test_dragging_a_slider_to_its_end_reaches_the_largest_size(open_figure):
    page = open_figure(ShapeTracer())
    place = dial(page, "seq").bounding_box()
    page.mouse.click(place["x"] + place["width"] - 1, place["y"] + place["height"] / 2)
    assert exactly(page, "seq").input_value() == "131072"


def test_heads_that_do_not_divide_are_explained_and_repaired(open_figure):
    page = open_figure(ShapeTracer(d_model=12, n_heads=3))
    before = rows_of(page)
    confirm(exactly(page, "n_heads"), "5")
    alert = page.locator("[role=alert]")
    assert alert.inner_text() == without_advice(words_of(checks.head_width, 12, 5))
    assert rows_of(page) == before
    confirm(exactly(page, "d_model"), "15")
    confirm(exactly(page, "n_kv_heads"), "5")
    assert alert.inner_text() == ""
    assert "d_head 3" in rows_of(page)["z"][0]


def test_a_free_width_of_heads_needs_no_division(open_figure):
    page = open_figure(ShapeTracer(d_model=12, n_heads=3))
    page.get_by_label("d_head = d_model / n_heads").uncheck()
    confirm(exactly(page, "d_head"), "7")
    confirm(exactly(page, "d_model"), "10")
    assert page.locator("[role=alert]").inner_text() == ""
    assert rows_of(page)["concat"][0] == "batch 2 query 6 d_heads 21"


@pytest.mark.parametrize("typed", ["", "0", "-3", "2.5", "1e9", "999999999999999999999"])
def test_what_is_no_size_is_said_and_changes_nothing(open_figure, typed):
    page = open_figure(ShapeTracer())
    before = rows_of(page)
    confirm(exactly(page, "seq"), typed)
    said = "seq must be a whole number from 1 to 131072."
    assert page.locator("[role=alert]").inner_text() == said
    assert exactly(page, "seq").get_attribute("aria-invalid") == "true"
    assert rows_of(page) == before


def test_the_dtype_halves_the_bytes(open_figure):
    page = open_figure(ShapeTracer())
    full = rows_of(page)["weights"][3]
    page.get_by_label("dtype").select_option("bfloat16")
    assert float(rows_of(page)["weights"][3]) == float(full) / 2


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_it_fits_its_page(open_figure, width, theme):
    page = open_figure(
        ShapeTracer(d_model=4096, n_heads=32, seq=8192), width=width, theme=theme
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_an_interaction_takes_less_than_50_ms(open_figure, report):
    page = open_figure(ShapeTracer())
    keys = ("ArrowRight", "ArrowLeft")
    took = milliseconds(page, "input[type=range]", "keydown", keys)
    report(f"shape tracer: {took:.1f} ms for a step of a slider")
    assert took < allowed(page, 50)
