"""A reader at the dials of the scale laboratory."""

import math
import re

import pytest
import torch
from playwright.sync_api import expect

from mhsa_book import measure
from mhsa_book.widgets import ScaleLab
from mhsa_book.widgets.scale_lab import TOKENS
from tests.mhsa_book.widgets.conftest import allowed, confirm, milliseconds
from tests.mhsa_book.widgets.plain_model import mount_again

SCALES = ScaleLab.scale.values


def rows_of(page, name: str):
    rows = page.get_by_role("table", name=name).locator("tbody tr").all()
    return [row.locator("th, td").all_inner_texts() for row in rows]


def numbers(page):
    table = rows_of(page, "What the softmax makes of the scores")
    return [[float(re.sub(r"[^\d.]", "", text)) for text in row[1:]] for row in table]


LAST_DIGIT = 0.01, 1, 0.001, 0.001


def wanted(lab):
    """Entropy, its share, the largest weight and the gradient: of one query, and the mean."""
    w = lab.weights
    jacobian = torch.diag_embed(w) - w[:, :, None] * w[:, None, :]
    bits = measure.entropy(w) / math.log(2)
    columns = (
        bits,
        100 * bits / math.log2(TOKENS),
        w.amax(dim=-1),
        jacobian.abs().sum(dim=(1, 2)),
    )
    return [[column[0].item(), column.mean().item()] for column in columns]


def assert_shows(page, lab):
    for shown, right, last in zip(numbers(page), wanted(lab), LAST_DIGIT, strict=True):
        assert shown == pytest.approx(right, abs=0.51 * last, rel=5e-3)


@pytest.mark.parametrize("scale", SCALES)
def test_every_scale_shows_the_numbers_of_pytorch(open_figure, scale):
    page = open_figure(ScaleLab())
    menu = page.get_by_label("scale", exact=True)
    menu.select_option(scale.replace("sqrt(d_head)", "√d_head"))
    for d_head in (1, 7, 300, 1024):
        confirm(page.get_by_label("d_head, exactly"), str(d_head))
        assert_shows(page, ScaleLab(scale=scale, d_head=d_head))


def test_the_derivation_stands_beside_what_was_measured(open_figure):
    page, lab = open_figure(ScaleLab(d_head=64, scale="1/d_head")), ScaleLab(d_head=64)
    rows = rows_of(page, "Where the variance comes from")
    assert [row[1] for row in rows] == ["1", "64", "0.0156", "0.125"]
    dots = lab.scores.var(correction=0)
    assert float(rows[1][2]) == pytest.approx(dots.item(), rel=6e-3)
    assert float(rows[2][2]) == pytest.approx(dots.item() / 64**2, rel=6e-3)
    assert float(rows[3][2]) == pytest.approx(dots.item() ** 0.5 / 64, rel=6e-3)


def test_the_sentence_names_saturation_and_its_opposite(open_figure):
    page = open_figure(ScaleLab(d_head=1024, scale="1"))
    said = page.get_by_role("status")
    expect(said).to_contain_text("Saturated")
    page.get_by_label("scale", exact=True).select_option("1/√d_head")
    expect(said).to_contain_text("In between")
    page.get_by_label("scale", exact=True).select_option("1/d_head")
    expect(said).to_contain_text("Flat")


def test_the_temperature_is_there_when_it_counts_and_takes_keys_and_typing(open_figure):
    page = open_figure(ScaleLab(d_head=64))
    typed = page.get_by_label("temperature, exactly")
    slide = page.get_by_label("temperature", exact=True)
    assert not typed.is_visible()
    page.get_by_label("scale", exact=True).select_option("1/temperature")
    confirm(typed, "0.5")
    assert_shows(page, ScaleLab(scale="1/temperature", temperature=0.5))
    slide.focus()
    page.keyboard.press("ArrowRight")
    assert typed.input_value() == "1"
    page.keyboard.press("End")
    assert typed.input_value() == "10000"
    page.keyboard.press("Home")
    assert typed.input_value() == "0.01"


@pytest.mark.parametrize("bad", ["", "0", "-1", "1e300", "99999"])
def test_a_number_that_does_not_fit_is_explained_and_changes_nothing(open_figure, bad):
    page = open_figure(ScaleLab(scale="1/temperature", temperature=2.0))
    before = numbers(page)
    alert = page.locator("[role=alert]")
    confirm(page.get_by_label("temperature, exactly"), bad)
    assert alert.inner_text() == "temperature must be a number from 0.01 to 10000."
    assert numbers(page) == before
    confirm(page.get_by_label("temperature, exactly"), "3")
    assert alert.inner_text() == ""
    confirm(page.get_by_label("d_head, exactly"), bad)
    assert alert.inner_text() == "d_head must be a whole number from 1 to 1024."


def test_drawing_again_takes_the_next_seed(open_figure):
    page = open_figure(ScaleLab(seed=4))
    page.get_by_role("button", name="Draw again").press("Enter")
    assert_shows(page, ScaleLab(seed=5))


def test_the_dial_of_d_head_slides_by_keys_and_mouse(open_figure):
    page = open_figure(ScaleLab(d_head=64))
    page.get_by_label("d_head", exact=True).focus()
    page.keyboard.press("ArrowRight")
    assert_shows(page, ScaleLab(d_head=128))
    place = page.get_by_label("d_head", exact=True).bounding_box()
    page.mouse.click(place["x"] + place["width"] - 1, place["y"] + place["height"] / 2)
    assert_shows(page, ScaleLab(d_head=1024))


def test_setting_a_trait_redraws_and_ending_the_figure_stops_listening(open_figure):
    lab = ScaleLab()
    page = open_figure(lab)
    mount_again(page, lab)
    assert page.evaluate("saved") == 0
    page.evaluate(
        "model.set('scale', '1/d_head'); model.set('seed', 9); model.set('d_head', 12)"
    )
    assert_shows(page, ScaleLab(scale="1/d_head", seed=9, d_head=12))
    page.evaluate("end()")
    assert page.evaluate("listening()") == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_runs_off_a_phone(open_figure, theme):
    page = open_figure(
        ScaleLab(scale="1/temperature", temperature=0.01), width=390, theme=theme
    )
    confirm(page.get_by_label("d_head, exactly"), "1024")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert "NaN" not in page.locator(".mhsa-body").inner_html()


def test_a_dial_answers_within_a_blink(open_figure, report):
    page = open_figure(ScaleLab(d_head=1000, scale="1/sqrt(d_head)"))
    keys = "ArrowRight", "ArrowLeft"
    took = min(milliseconds(page, "input[type=range]", "keydown", keys) for _ in range(3))
    report(f"scale laboratory, d_head 1000: {took:.1f} ms a step")
    assert took < allowed(page, 50)
    again = min(milliseconds(page, ".mhsa-button", "click") for _ in range(3))
    report(f"scale laboratory: {again:.1f} ms to draw again")
    assert again < allowed(page, 50)
