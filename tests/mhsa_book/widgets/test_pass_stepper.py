"""The pass stepper: any attention, its numbers, and what lights up is what was recorded."""

from itertools import product

import pytest
import torch
from playwright.sync_api import expect

from mhsa_book.provenance import provenance_of
from mhsa_book.widgets import PassStepper
from mhsa_lib import MultiHeadAttention, masks
from mhsa_lib.variants import GroupedQueryAttention
from tests.helpers.drawn import mha, rand
from tests.mhsa_book.widgets.conftest import allowed, milliseconds, node
from tests.mhsa_lib.variants.registry import STAGED


def stepper(mask=None, **traits) -> PassStepper:
    torch.manual_seed(0)
    return PassStepper(rand(3, 4).float(), GroupedQueryAttention(4, 4, 2), mask, **traits)


SETTINGS = [  # a picture a second: every class with every test, its other settings are slow
    pytest.param(v, marks=[pytest.mark.slow] * (" " in v.name), id=v.name) for v in STAGED
]


@pytest.mark.parametrize("variant", SETTINGS)
def test_it_takes_every_variant(variant):
    found = PassStepper(rand(2, 12).float(), variant.build().eval())
    makes = [wire for step in found.recorded["steps"] for wire in step["makes"]]
    assert makes[0] in found.recorded["numbers"]
    assert makes[-1] == "y"
    assert all(len(axes) >= 2 for axes in found.recorded["axes"].values())
    assert len(found.html()) < 250_000


@pytest.mark.parametrize("mask", [None, masks.causal], ids=str)
def test_the_page_unpacks_what_was_recorded(mask):
    x, attention = rand(2, 4), mha(4, 2, bias=True)
    provenance = provenance_of(attention, x, mask)
    (found,) = node(
        "pass_stepper/recorded", ("unpacked", PassStepper(x, attention, mask).recorded)
    )
    for name, value in (provenance.inputs | provenance.wires).items():
        rows = torch.tensor(found["wires"][name]).reshape(value.shape)
        torch.testing.assert_close(rows, value.float(), atol=1e-5, rtol=1e-5)
    for wire, every_list in provenance.parents.items():
        shape = provenance.wires[wire].shape
        for at, wanted in zip(product(*map(range, shape)), every_list, strict=True):
            assert padded(found["parents"][" ".join(map(str, (wire, *at)))]) == padded(wanted)


def padded(places) -> set[tuple]:
    """Places with two indices at least: a bias is one row on the page."""
    return {(name, *([0] * (2 - len(at))), *at) for name, *at in places}


def test_a_batch_and_too_many_numbers_are_refused_in_words():
    with pytest.raises(ValueError, match=r"x is \(2, 3, 4\); the stepper writes out"):
        PassStepper(rand(2, 3, 4).float(), MultiHeadAttention(4, 2))
    with pytest.raises(ValueError, match=r"numbers; the stepper shows up to 2,500"):
        PassStepper(rand(6, 24).float(), MultiHeadAttention(24, 2))


# --- in the browser --------------------------------------------------------------------------


def cell(page, *place):
    return page.locator(f'[data-place="{" ".join(map(str, place))}"]')


def lit(page, kind: str) -> set[tuple]:
    found = page.locator(f".mhsa-{kind}[data-place]").evaluate_all(
        "cells => cells.map((cell) => cell.dataset.place)"
    )
    parts = (place.split() for place in found)
    return {(name, *map(int, at)) for name, *at in parts}


def test_every_step_shows_its_wires(open_figure):
    figure = stepper()
    page = open_figure(figure)
    for step in figure.recorded["steps"]:
        assert page.locator("[aria-current=step]").inner_text() == step["step"]
        expect(page.locator(".mhsa-says")).to_contain_text(step["says"])
        new = page.locator(".mhsa-panel .mhsa-new").evaluate_all(
            "sheets => sheets.map((sheet) => sheet.dataset.wire)"
        )
        assert {name.partition("[")[0] for name in new} == {*step["makes"]}
        if step is not figure.recorded["steps"][-1]:
            page.get_by_role("button", name="Next").click()
    assert page.get_by_role("button", name="Next").is_disabled()


def test_pointing_lights_exactly_the_recorded_parents(open_figure):
    figure = stepper(step=4)
    page = open_figure(figure)
    parents = record_of(figure)["z"]
    cell(page, "z", 3, 1, 0).hover()
    assert lit(page, "at") == {("z", 3, 1, 0)}
    assert lit(page, "near") == {*parents[3 * 3 + 1]}
    said = page.locator(".mhsa-said").inner_text()
    assert "made of 6 numbers: 3 of v_heads, 3 of weights." in said


def record_of(figure):
    return figure._provenance.parents


def test_grouped_heads_share_their_key_head(open_figure):
    page = open_figure(stepper(step=2))
    for head, shared in ((0, 0), (1, 0), (2, 1), (3, 1)):
        cell(page, "scores", head, 0, 0).hover()
        assert {at[1] for at in lit(page, "near") if at[0] == "k_heads"} == {shared}


def test_the_keyboard_walks_steps_and_numbers(open_figure):
    page = open_figure(stepper())
    page.get_by_role("button", name="project", exact=True).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator("[aria-current=step]").inner_text() == "split"
    cell(page, "q_heads", 1, 0, 0).focus()
    page.keyboard.press("ArrowDown")
    assert lit(page, "at") == {("q_heads", 1, 1, 0)}
    expect(page.locator(".mhsa-said")).to_contain_text("made of q[1, 1] =")


def test_a_forbidden_number_depends_on_nothing(open_figure):
    page = open_figure(stepper(masks.causal, step=3))
    cell(page, "weights", 0, 0, 2).hover()
    expect(page.locator(".mhsa-said")).to_contain_text(
        "weights[0, 0, 2] = 0.00, whatever the numbers before it are."
    )


def test_an_interaction_takes_less_than_50_ms(open_figure, report):
    page = open_figure(stepper(step=2))
    place = '[data-place="scores 1 1 1"]'
    taken = milliseconds(page, place, "pointerover")
    report(f"pass stepper: {taken:.0f} ms to light where a number comes from")
    assert taken < allowed(page, 50)
