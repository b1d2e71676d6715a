"""A reader composes a pair: chooses it on a map, weakens parts, changes numbers."""

import pytest
import torch
from playwright.sync_api import expect

from mhsa_book.widgets import ComposeLab
from tests.mhsa_book.widgets.conftest import allowed, confirm, milliseconds, table
from tests.mhsa_book.widgets.plain_model import mount_again

STRENGTHS = "static", "by_query", "by_key", "gates"


def number(text):
    return float(text.replace("−", "-"))


def shown(page, head):
    """The composed weights of a head, as its cells are labelled."""
    grid = page.get_by_role("table", name=f"composed weights of head {head}")
    labels = grid.locator("button").evaluate_all("all => all.map((one) => one.ariaLabel)")
    return torch.tensor([number(label.split(": ")[1]) for label in labels]).view(6, 6)


def assert_shows(page, lab):
    for head, weights in enumerate(lab.composed):
        torch.testing.assert_close(shown(page, head), weights.float(), atol=0.0051, rtol=0)
        rows = table(page, f"composed weights of head {head}")
        sums = [number(row.locator("td").last.inner_text()) for row in rows_of(page, head)]
        assert len(rows) == 6
        assert sums == pytest.approx(weights.sum(dim=-1).tolist(), abs=0.0051)
    a, after = (
        [rows[lab.query][lab.key] for rows in numbers]
        for numbers in (lab.weights, lab.composed.tolist())
    )
    pair = table(page, "the pair")
    assert [number(pair[f"head {h}"][0]) for h in range(3)] == pytest.approx(a, abs=0.0051)
    assert [number(x) for x in pair["composed, a′"]] == pytest.approx(after, abs=0.0051)
    assert f"{int((lab.composed < 0).sum())} of 63" in page.locator(".mhsa-rows").inner_text()


def rows_of(page, head):
    grid = page.get_by_role("table", name=f"composed weights of head {head}")
    return grid.locator("tbody tr").all()


def test_a_press_on_a_map_chooses_the_pair(open_figure):
    page, lab = open_figure(ComposeLab()), ComposeLab()
    assert_shows(page, lab)
    page.get_by_role("button", name="head 1, sat looks at cat").click()
    lab.query, lab.key = 2, 1
    assert_shows(page, lab)
    expect(
        page.get_by_text("“\u2068sat\u2069” looks at “\u2068cat\u2069”").first
    ).to_be_visible()
    assert page.locator("button.mhsa-pair[aria-pressed=true]").count() == 3


def test_keys_go_through_a_map_and_choose(open_figure):
    page, lab = open_figure(ComposeLab()), ComposeLab(query=5, key=3)
    page.locator("button.mhsa-pair[aria-pressed=true]").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert_shows(page, lab)


@pytest.mark.parametrize("name", STRENGTHS)
def test_every_part_has_a_strength_of_its_own(open_figure, name):
    page, lab = open_figure(ComposeLab()), ComposeLab(**{name: 0.25})
    words = {
        "static": "static part",
        "by_query": "query’s low rank",
        "by_key": "key’s low rank",
        "gates": "gates",
    }
    confirm(page.get_by_label(f"{words[name]}, exactly"), "0.25")
    assert_shows(page, lab)


def test_all_parts_move_together_until_the_first_weight_is_negative(open_figure):
    page = open_figure(ComposeLab())
    page.get_by_role("button", name="Plain attention").click()
    assert_shows(page, ComposeLab(**dict.fromkeys(STRENGTHS, 0)))
    expect(page.locator(".mhsa-notice")).to_contain_text("This is plain attention.")
    dial = page.get_by_label("all parts", exact=True)
    for strength, negative in ((0.01, 0), (0.02, 1)):
        dial.press("ArrowRight")
        assert_shows(page, ComposeLab(**dict.fromkeys(STRENGTHS, strength)))
        expect(page.locator(".mhsa-rows")).to_contain_text(f"weights: {negative} of 63")


CELLS = {
    "W_b[0, 2]": ("W_b", 0, 2),
    "query w1[1, 0]": ("query_w1", 5, 1, 0),
    "key w2[0, 1]": ("key_w2", 2, 0, 1),
    "query gate[2]": ("query_gate", 5, 2),
    "key gate[0]": ("key_gate", 2, 0),
}


@pytest.mark.parametrize("label", CELLS)
def test_a_number_of_every_part_can_be_changed_and_taken_back(open_figure, label):
    page, lab = open_figure(ComposeLab()), ComposeLab()
    name, *at, last = CELLS[label]
    maps = {each: torch.tensor(numbers) for each, numbers in lab.maps.items()}
    maps[name][(*at, last)] = -1.5
    confirm(page.get_by_label(label, exact=True), "-1.5")
    assert_shows(page, ComposeLab(maps={each: n.tolist() for each, n in maps.items()}))
    page.get_by_role("button", name="Start again").click()
    assert_shows(page, lab)


@pytest.mark.parametrize("bad", ["", "10", "-1e9"])
def test_a_number_that_does_not_fit_is_explained_and_changes_nothing(open_figure, bad):
    page, lab = open_figure(ComposeLab()), ComposeLab()
    field = page.get_by_label("W_b[1, 1]", exact=True)
    confirm(field, bad)
    expect(page.get_by_role("alert")).to_have_text("W_b[1, 1] must be a number from -9 to 9.")
    assert_shows(page, lab)
    field.press("Escape")
    expect(page.get_by_role("alert")).to_have_text("")
    assert field.input_value() == f"{lab.maps['W_b'][1][1]:.2f}"


def test_a_weight_below_zero_is_marked_without_colour(open_figure):
    page = open_figure(ComposeLab())
    marked = page.locator("button.mhsa-pair", has_text="−").count()
    assert marked == int((ComposeLab().composed < 0).sum())


def test_setting_a_trait_redraws_and_ending_the_figure_stops_listening(open_figure):
    lab = ComposeLab()
    page = open_figure(lab)
    mount_again(page, lab)
    assert page.evaluate("saved") == 0
    page.evaluate("model.set('static', 0.5); model.set('query', 3); model.set('key', 0)")
    assert_shows(page, ComposeLab(static=0.5, query=3, key=0))
    page.evaluate("end()")
    assert page.evaluate("listening()") == 0


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_moves_when_a_dial_goes_over_its_range(open_figure, width):
    page = open_figure(ComposeLab(), width=width)
    dial = page.get_by_label("all parts", exact=True)
    places = set()
    for key in ("Home", *["ArrowRight"] * 10):
        dial.press(key)
        places.add(tuple(page.locator(".mhsa-parts").bounding_box().values()))
    assert len(places) == 1
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_finger_hits_a_cell(open_figure):
    page = open_figure(ComposeLab(), width=390, has_touch=True)
    boxes = [cell.bounding_box() for cell in page.locator(".mhsa-pair, .mhsa-field").all()]
    assert min(min(box["width"], box["height"]) for box in boxes) >= 24
    page.get_by_role("button", name="head 2, on looks at The: −").tap()
    assert_shows(page, ComposeLab(query=3, key=0))


def test_a_strength_answers_within_a_blink(open_figure, report):
    page = open_figure(ComposeLab())
    keys = "ArrowLeft", "ArrowRight"
    took = min(milliseconds(page, "input[type=range]", "keydown", keys) for _ in range(3))
    report(f"compose lab: {took:.1f} ms a step of all parts")
    assert took < allowed(page, 50)
