"""A reader edits a number or the mask, and all later numbers follow."""

import math

import pytest
from playwright.sync_api import expect

from mhsa_book.widgets import StageStepper
from mhsa_book.widgets.stage_stepper import INPUTS
from mhsa_lib import masks
from tests.mhsa_book.widgets.conftest import confirm
from tests.mhsa_book.widgets.stage_stepper.sheet import (
    assert_shows,
    cell,
    lit,
    on_screen,
    said,
    step,
)


@pytest.mark.parametrize("name", INPUTS)
def test_an_edited_number_changes_all_later_ones(open_figure, name):
    stepper = StageStepper(step="W_O", mask=masks.causal)
    page = open_figure(stepper)
    cell(page, name, 1, 2).click()
    page.keyboard.type("-1,25")
    rows = [list(row) for row in getattr(stepper, name)]
    rows[1][2] = -1.25
    assert_shows(page, stepper)  # a number that is not confirmed does not count
    setattr(stepper, name, rows)
    page.keyboard.press("Enter")
    assert_shows(page, stepper)
    assert lit(page, "at") == {f"{name} 1 2"}
    page.keyboard.press("ArrowLeft")
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    rows[1][1] = 7
    setattr(stepper, name, [list(row) for row in rows])
    assert_shows(page, stepper)
    page.get_by_role("button", name="Reset").click()
    assert_shows(page, StageStepper(mask=masks.causal))


REFUSED = {
    "": "The field is empty.",
    "NaN": "“NaN” is not a number.",
    "-inf": "An infinite number makes NaN in the next product.",
    "1e300": "1e300 is too large to follow by hand.",
    "1e999": "An infinite number",
    "<img src=x onerror=alert(1)>": "“<img src=x onerror=a” is not a number.",
    "\u202e\u05d0🙂": "is not a number.",
}


@pytest.mark.parametrize("typed", REFUSED)
def test_what_is_no_number_is_said_and_changes_nothing(open_figure, typed):
    stepper = StageStepper()
    page = open_figure(stepper)
    cell(page, "W_K", 0, 0).click()
    field = page.get_by_role("textbox")
    confirm(field, typed)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(REFUSED[typed])
    expect(alert).to_contain_text("Type a number from −100 to 100.")
    assert field.get_attribute("aria-invalid") == "true"
    assert_shows(page, stepper)
    assert page.locator(".mhsa-figure img").count() == 0
    cell(page, "W_K", 0, 1).click()
    assert (field.input_value(), alert.inner_text()) == ("0", "")


def test_escape_restores_the_number_and_a_refused_one_changes_nothing(open_figure):
    stepper = StageStepper()
    page = open_figure(stepper)
    cell(page, "x", 1, 0).click()
    field, old = page.get_by_role("textbox"), page.get_by_role("textbox").input_value()
    for typed, confirmed in [("500", False), ("5", False), ("1e9", True)]:
        field.focus()
        field.fill(typed)
        if confirmed:
            field.press("Enter")
            assert page.get_by_role("alert").inner_text() != ""
            assert page.evaluate("document.activeElement.value") == typed
        field.press("Escape")
        assert (field.input_value(), page.get_by_role("alert").inner_text()) == (old, "")
        assert page.evaluate("document.activeElement.dataset.place") == "x 1 0"
        assert_shows(page, stepper)


def test_a_chosen_mask_and_its_toggled_cells(open_figure):
    stepper = StageStepper(step="mask")
    page = open_figure(stepper)
    choice = page.get_by_label("mask", exact=True)
    choice.select_option("causal")
    stepper.mask = [[True, False], [True, True]]
    assert_shows(page, stepper)
    assert on_screen(page)["masked 0 0 1"] == -math.inf
    cell(page, "mask", 0, 0).click()
    assert choice.evaluate("e => e.value") == "my own"
    note = "Query 0 may look at no key: its weights, its z and its y are zeros."
    expect(page.get_by_text(note)).to_be_visible()
    step(page, "W_O")
    stepper.mask = [[False, False], [True, True]]
    assert_shows(page, stepper)
    cell(page, "weights", 0, 0, 1).hover()
    assert (
        said(page)
        == "weights[0, 0, 1] = 0: query 0 may look at no key, so its weights are zeros."
    )
    cell(page, "mask", 0, 0).focus()
    page.keyboard.press("Enter")
    assert page.get_by_text(note).count() == 0
