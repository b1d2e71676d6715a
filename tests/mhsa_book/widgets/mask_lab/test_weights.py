"""Every mask, head and number of a rule shows its weights, and an empty row its answers."""

import pytest
import torch
from playwright.sync_api import expect

from mhsa_book.equivalence import empty_row
from mhsa_book.widgets import MaskLab
from mhsa_book.widgets.mask_lab import RULES
from mhsa_lib import masks
from tests.mhsa_book.widgets.conftest import confirm
from tests.mhsa_book.widgets.mask_lab.grid import cell, pressed, shown, whole, written
from tests.mhsa_book.widgets.plain_model import mount_again
from tests.mhsa_book.widgets.six_words import mask_lab


def test_every_kind_and_head_shows_the_weights_of_pytorch(open_figure):
    page = open_figure(mask_lab())
    menu = page.get_by_label("mask", exact=True)
    assert menu.locator("option").all_inner_texts() == [*RULES, "your own"]
    for kind in RULES:
        menu.select_option(kind)
        for head in range(3):
            page.get_by_label("head", exact=True).select_option(str(head))
            lab = mask_lab(kind=kind, head=head)
            assert pressed(page) == lab.mask.tolist(), kind
            assert shown(page) == written(lab.weights, lab.mask), (kind, head)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("padding", "length"), ("prefix", "prefix"), ("sliding window", "window")],
)
def test_the_one_number_of_a_rule_is_typed_and_slid(open_figure, kind, name):
    page = open_figure(mask_lab())
    page.get_by_label("mask", exact=True).select_option(kind)
    dials = page.locator(".mhsa-dial:visible")
    assert dials.count() == 1
    confirm(dials.get_by_label(f"{name}, exactly"), "2")
    assert pressed(page) == mask_lab(kind=kind, n=2).mask.tolist()
    dials.get_by_label(name, exact=True).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert pressed(page) == mask_lab(kind=kind, n=4).mask.tolist()


@pytest.mark.parametrize("typed", ["", "0", "-3", "1e300", "2.5", "99"])
def test_a_number_that_does_not_fit_is_explained_and_changes_nothing(open_figure, typed):
    page = open_figure(mask_lab(kind="sliding window", n=2))
    before = shown(page)
    confirm(page.get_by_label("window, exactly"), typed)
    alert = page.locator("[role=alert]")
    assert alert.inner_text() == "window must be a whole number from 1 to 6."
    assert shown(page) == before
    confirm(page.get_by_label("window, exactly"), "3")
    assert alert.inner_text() == ""


def test_an_empty_row_shows_what_every_implementation_answers(open_figure):
    page = open_figure(mask_lab())
    expect(page.get_by_role("status")).to_contain_text("Every query has a key.")
    table = page.locator(".mhsa-answers")
    assert table.count() == 0
    whole(page, "query The, whole row").click()
    assert shown(page)[0] == [""] * 6
    words = {"zeros": "all 0", "NaN": "all NaN", "equal": "all 1/6, forbidden keys too"}
    wanted = [[a.implementation, words[a.weights], a.gradient] for a in empty_row.answers()]
    rows = table.locator("tbody tr").all()
    assert [row.locator("th, td").all_inner_texts() for row in rows] == wanted
    assert (
        f"torch {torch.__version__.partition('+')[0]}"
        in page.locator(".mhsa-empty").inner_text()
    )
    expect(page.get_by_role("status")).to_contain_text("“The” looks at nothing.")


def test_setting_a_trait_redraws_and_ending_the_figure_stops_listening(open_figure):
    lab = mask_lab()
    page = open_figure(lab)
    mount_again(page, lab)
    assert page.evaluate("saved") == 0  # drawing writes nothing back
    page.evaluate("model.set('kind', 'prefix'); model.set('n', 2); model.set('head', 1)")
    lab = mask_lab(kind="prefix", n=2, head=1)
    assert shown(page) == written(lab.weights, lab.mask)
    lab.mask = masks.causal & masks.key_padding([4])
    page.evaluate("rows => model.set('painted', rows)", lab.painted)
    page.evaluate("model.set('kind', 'your own')")
    assert shown(page) == written(lab.weights, lab.mask)
    page.evaluate("end()")
    assert page.evaluate("listening()") == 0
    assert page.locator(".mhsa-body").count() == 0


def test_one_token_is_enough(open_figure):
    page = open_figure(MaskLab(torch.zeros(1, 1, 1), ["I"]))
    assert shown(page) == [["1.00"]]
    cell(page, "I", "I").click()
    assert shown(page) == [[""]]
