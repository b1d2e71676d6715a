"""What a reader changes moves nothing back and forth, and can be hit with a finger."""

import pytest

from mhsa_book import widgets
from tests.mhsa_book.widgets.every_figure import MAKE, every_figure

SMALL = """() => [...document.querySelectorAll(
    ".mhsa-figure :is(button, input, select, summary, a, [role=radio])"
  )].filter((one) => one.checkVisibility()).map((one) => {
    const label = one.matches("[type=checkbox], [type=radio]") ? one.closest("label") : null;
    const target = label ?? one;
    const { width, height } = target.getBoundingClientRect();
    return [one.ariaLabel ?? one.textContent ?? one.className, width, height];
  }).filter(([, width, height]) => Math.min(width, height) < 23.9)"""
# Twelve columns share the width of a phone; the arrow keys and the table reach them too.
NARROW = {"OutputSum"}
DIALS = ["CostLab", "MaskLab", "ScaleLab", "ShapeTracer"]
LONG = [
    pytest.param(name, marks=pytest.mark.slow) for name in ("CacheCalculator", "HeadBudget")
]
TOPS = """() => [...document.querySelectorAll(".mhsa-body > *")]
  .map((part) => part.getBoundingClientRect().top + scrollY)"""


@pytest.mark.parametrize("width", [339, 900])
@every_figure
def test_what_a_finger_has_to_hit_is_large_enough(open_figure, name, width):
    small = open_figure(MAKE[name](), width=width).evaluate(SMALL)
    if name in NARROW and width == 339:
        small = [one for one in small if not one[0].startswith("coordinate ")]
    assert small == []


@pytest.mark.parametrize("width", [339, pytest.param(900, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [*DIALS, *LONG])
def test_along_a_dial_and_back_nothing_has_moved(open_figure, name, width):
    state = {"kind": "padding"} if name == "MaskLab" else {}
    page = open_figure(getattr(widgets, name)(**state), width=width)

    def along(keys):
        seen = []
        for dial in page.locator(".mhsa-dial:visible input[type=range]").all():
            dial.press(keys[0])
            for _ in range(int(dial.get_attribute("max")) // 3 + 1):
                dial.press(keys[1])
                seen.append(page.evaluate(TOPS))
            page.wait_for_timeout(300)  # what is spoken comes a little later
        return seen

    ways = [["Home", "PageUp"], ["End", "PageDown"]]
    for way in ways * 2:
        along(way)  # takes the room that it needs
    rows = [tops for way in ways for tops in along(way)]
    moved = [max(tops) - min(tops) for tops in zip(*rows, strict=True)]
    assert max(moved) < 0.1, moved  # a browser counts in 64ths of a pixel


def test_another_width_takes_the_room_that_it_needs(open_figure):
    page = open_figure(widgets.ScaleLab(), width=339)
    tall = page.locator(".mhsa-body").bounding_box()["height"]
    page.set_viewport_size({"width": 900, "height": 900})
    page.wait_for_timeout(100)
    assert page.locator(".mhsa-body").bounding_box()["height"] < tall / 2


def test_one_number_of_a_mask_takes_the_place_of_another(open_figure):
    page = open_figure(widgets.MaskLab(kind="padding"), width=339)
    places = []
    for kind, label in [
        ("padding", "length"),
        ("prefix", "prefix"),
        ("sliding window", "window"),
    ]:
        page.get_by_label("mask", exact=True).select_option(kind)
        places.append(page.get_by_label(label, exact=True).bounding_box())
    assert len({place["y"] for place in places}) == 1


def test_on_a_phone_the_controls_stay_beside_what_they_do(open_figure):
    page = open_figure(widgets.ScaleLab(), width=339)
    page.evaluate("scrollTo(0, 700)")
    box = page.get_by_label("d_head", exact=True).bounding_box()
    assert 0 < box["y"] < 200


def test_a_minus_sign_can_be_typed_on_a_phone(open_figure):
    page = open_figure(widgets.StageStepper(), width=339)
    assert page.locator(".mhsa-field input").first.get_attribute("inputmode") == "text"
