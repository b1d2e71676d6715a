"""A reader walks through the steps and numbers by mouse and by keys."""

import torch

from mhsa_book.widgets import StageStepper
from mhsa_book.widgets.stage_stepper import STEPS
from tests.mhsa_book.widgets.stage_stepper.sheet import assert_shows, cell, lit, on_screen, said


def test_every_step_shows_its_wires_with_the_numbers_of_pytorch(open_figure):
    stepper = StageStepper()
    page = open_figure(stepper)
    shown = []
    for name in STEPS:
        current = page.locator("[aria-current=step]")
        assert current.inner_text() == name
        assert_shows(page, stepper)
        new = page.locator(".mhsa-panel .mhsa-new").evaluate_all(
            "e => e.map(s => s.dataset.wire)"
        )
        assert new
        assert not set(new) & set(shown)
        shown += new
        if name != STEPS[-1]:
            page.get_by_role("button", name="Next").click()
    assert page.get_by_role("button", name="Next").is_disabled()
    headed = {"q_heads", "k_heads", "v_heads", "dots", "scores", "masked", "weights", "z"}
    wanted = {f"{w}[{h}]" for w in headed for h in (0, 1)} | {"q", "k", "v", "concat", "y"}
    assert set(shown) == wanted
    page.get_by_role("button", name="Previous").click()
    assert page.locator("[aria-current=step]").inner_text() == "concat"


def test_the_names_of_the_axes_are_those_of_a_trace(open_figure):
    page = open_figure(StageStepper(step="W_O"))
    for found in StageStepper().wires().steps.values():
        sheet = page.locator(f'[data-wire^="{found.name}"] table').first
        *_, (down, rows), (across, columns) = found.axes.items()
        assert sheet.get_attribute("aria-label").endswith(f"{down} {rows} × {across} {columns}")


def test_the_arrow_keys_walk_from_number_to_number(open_figure):
    page = open_figure(StageStepper(step="score"))
    cell(page, "dots", 1, 0, 0).focus()
    page.keyboard.press("ArrowRight")
    assert said(page) == "dots[1, 0, 1] = 2.05·0.30 + (−0.50)·(−2.00) = 1.615"
    page.keyboard.press("ArrowDown")
    assert lit(page, "at") == {"dots 1 1 1"}
    page.keyboard.press("Shift+Tab")
    assert lit(page, "at") == {"k_heads 1 0 0"}


def test_the_steps_can_be_walked_with_the_keyboard(open_figure):
    page = open_figure(StageStepper())
    page.get_by_role("button", name="project", exact=True).focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    assert page.locator("[aria-current=step]").inner_text() == "W_O"


def test_the_first_view_can_be_set_from_python(open_figure):
    page = open_figure(StageStepper(step="mix", selected=["z", 1, 0, 0]))
    assert said(page).startswith("z[1, 0, 0] = 0.0356·0.50 + 0.9644·1.00 = ")
    page = open_figure(StageStepper(step="mix", selected=["no wire", 0, "<b>"]))
    assert lit(page, "at") == {"z 0 0 0"}


def test_scores_past_the_range_of_exp(open_figure):
    x = torch.full((2, 4), 100.0)
    page = open_figure(StageStepper(x, step="softmax"))
    assert "the largest score is taken off first" in said(page)
    assert on_screen(page)["weights 0 0 0"] == 0.5
