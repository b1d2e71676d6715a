"""A reader paints the mask: by mouse, by finger and by keys, whole rows too."""

import torch

from mhsa_book.widgets import MaskLab
from tests.mhsa_book.widgets.conftest import allowed, milliseconds
from tests.mhsa_book.widgets.mask_lab.grid import cell, pressed, shown, whole, written
from tests.mhsa_book.widgets.six_words import mask_lab


def test_a_click_paints_and_makes_the_preset_your_own(open_figure):
    page, lab = open_figure(mask_lab()), mask_lab()
    cell(page, "The", "mat").click()
    mask = lab.mask.clone()
    mask[0, 5] = True
    lab.mask = mask
    assert page.get_by_label("mask", exact=True).input_value() == "your own"
    assert pressed(page) == mask.tolist()
    assert shown(page) == written(lab.weights, mask)
    cell(page, "The", "mat").click()
    assert pressed(page) == mask_lab().mask.tolist()


def test_a_drag_paints_every_cell_that_it_passes_with_one_value(open_figure):
    page = open_figure(mask_lab())
    cell(page, "The", "sat").hover()
    page.mouse.down()
    for key in ("on", "the", "mat"):
        cell(page, "The", key).hover()
    cell(page, "mat", "mat").hover()  # already allowed: a stroke never takes back
    page.mouse.up()
    cell(page, "cat", "mat").hover()  # the stroke has ended
    mask = mask_lab().mask.clone()
    mask[0, 2:] = True
    assert pressed(page) == mask.tolist()


def test_a_tap_paints(open_figure):
    page = open_figure(mask_lab(), width=390, has_touch=True)
    cell(page, "cat", "The").tap()
    mask = mask_lab().mask.clone()
    mask[1, 0] = False
    assert pressed(page) == mask.tolist()


def drag_a_finger(page, *places):
    """From the middle of one element to that of the next, as a touch screen reports it."""
    page.evaluate("scrollTo(0, 0)")
    send = page.context.new_cdp_session(page).send
    boxes = [place.bounding_box() for place in places]
    stops = [(b["x"] + b["width"] / 2, b["y"] + b["height"] / 2) for b in boxes]
    kinds = ["touchStart"] + ["touchMove"] * (len(stops) - 1)
    for kind, (x, y) in zip(kinds, stops, strict=True):
        send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_timeout(50)


def test_a_finger_paints_every_cell_that_it_passes(open_figure):
    page = open_figure(mask_lab(), width=390, has_touch=True)
    mask = mask_lab().mask.clone()
    drag_a_finger(page, *(cell(page, "The", key) for key in ("cat", "sat", "on", "the")))
    mask[0, 1:5] = True
    assert pressed(page) == mask.tolist()
    drag_a_finger(page, *(cell(page, query, "cat") for query in ("cat", "sat", "on", "mat")))
    mask[[1, 2, 3, 5], 1] = False
    assert pressed(page) == mask.tolist()
    drag_a_finger(page, cell(page, "sat", "on"), cell(page, "on", "the"))  # slantwise
    mask[2, 3] = mask[3, 4] = True
    assert pressed(page) == mask.tolist()
    drag_a_finger(
        page, whole(page, "query the, whole row"), whole(page, "query mat, whole row")
    )
    mask[4:] = False
    assert pressed(page) == mask.tolist()
    assert page.evaluate("scrollY") == 0


def test_a_finger_outside_the_grid_scrolls_the_page_and_paints_nothing(open_figure):
    page = open_figure(mask_lab(), width=390, has_touch=True)
    below = page.get_by_role("table", name="Weights of the chosen head").locator("tbody tr")
    drag_a_finger(page, *(below.nth(i) for i in range(5, -1, -1)))
    assert page.evaluate("scrollY") > 0
    assert pressed(page) == mask_lab().mask.tolist()


def test_the_keyboard_reaches_and_paints_every_cell(open_figure):
    page = open_figure(mask_lab())
    page.get_by_label("head", exact=True).focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "all"
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.ariaLabel") == "The looks at cat"
    page.keyboard.press("Space")
    mask = mask_lab().mask.clone()
    mask[0, 1] = True
    assert pressed(page) == mask.tolist()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    mask[0, 5] = True
    assert pressed(page) == mask.tolist()


def test_after_a_mouse_the_keyboard_still_paints_the_same_cell(open_figure):
    page = open_figure(mask_lab())
    cell(page, "The", "mat").click()
    page.keyboard.press("Space")
    assert pressed(page) == mask_lab().mask.tolist()


def test_tokens_switch_rows_and_columns_and_the_corner_everything(open_figure):
    page = open_figure(mask_lab(kind="none"))
    whole(page, "query sat, whole row").click()
    whole(page, "key The, whole column").click()
    mask = torch.ones(6, 6, dtype=torch.bool)
    mask[2], mask[:, 0] = False, False
    assert pressed(page) == mask.tolist()
    whole(page, "all pairs").click()
    assert all(map(all, pressed(page)))
    whole(page, "all pairs").click()
    assert not any(map(any, pressed(page)))


def test_your_own_starts_from_the_mask_that_is_there(open_figure):
    page = open_figure(mask_lab(kind="prefix", n=2))
    page.get_by_label("mask", exact=True).select_option("your own")
    assert pressed(page) == mask_lab(kind="prefix", n=2).mask.tolist()


def test_painting_answers_within_a_blink(open_figure, report):
    page = open_figure(MaskLab(torch.randn(12, 10, 10), [f"t{i}" for i in range(10)]))
    pair = "button[aria-label='t3 looks at t7']"
    paint = milliseconds(page, pair, "click")
    everything = milliseconds(page, "button[aria-label='all pairs']", "click")
    report(f"mask laboratory, 10 tokens: {paint:.1f} ms a cell, {everything:.1f} ms for all")
    assert max(paint, everything) < allowed(page, 50)
