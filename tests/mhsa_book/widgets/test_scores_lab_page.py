"""A reader moves scores, removes keys and turns the numbers of seven rules."""

import pytest
from playwright.sync_api import expect

from mhsa_book.widgets import ScoresLab
from mhsa_book.widgets.scores_lab.rules import RULES
from tests.mhsa_book.widgets.conftest import allowed, confirm, milliseconds, said
from tests.mhsa_book.widgets.plain_model import mount_again


def number(text):
    return float(text.replace("−", "-"))


def lines(page):
    rows = page.get_by_role("table", name="rules").locator("tbody tr").all()
    return dict(zip(RULES, rows, strict=True))


def column(page, label):
    return {
        rule: row.locator(f"td[data-label='{label}']").text_content()
        for rule, row in lines(page).items()
    }


def assert_shows(page, lab):
    wanted = {
        "chosen key": {rule: row[lab.key].item() for rule, row in lab.by_rule.items()},
        "sum": {rule: row.sum().item() for rule, row in lab.by_rule.items()},
        "hands over": lab.handed,
    }
    for label, numbers in wanted.items():
        shown = {rule: number(text) for rule, text in column(page, label).items()}
        assert shown == pytest.approx(numbers, abs=5.1e-4), label
    for rule, row in lines(page).items():
        strip = row.get_by_role("img")
        label = strip.get_attribute("aria-label").removeprefix("weights: ")
        weights = [number(text) for text in label.split(", ")]
        assert weights == pytest.approx(lab.by_rule[rule].tolist(), abs=5.1e-3), rule


def test_it_starts_with_what_python_has(open_figure):
    assert_shows(open_figure(ScoresLab()), ScoresLab())


def test_a_score_is_dragged(open_figure):
    page = open_figure(ScoresLab())
    box = page.get_by_role("slider", name="score of on").bounding_box()
    x = box["x"] + box["width"] / 2
    page.mouse.move(x, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(x, box["y"] + box["height"] / 4, steps=4)
    assert_shows(page, ScoresLab([0, 3, 1, 2, 0, -1], [1, 2, 1, 1, 1, 1], key=3))
    page.mouse.move(x, box["y"] - 300)
    page.mouse.up()
    page.mouse.move(x, box["y"] + box["height"])
    assert_shows(page, ScoresLab([0, 3, 1, 4, 0, -1], [1, 2, 1, 1, 1, 1], key=3))


def test_a_score_is_moved_by_keys_and_typed(open_figure):
    page = open_figure(ScoresLab())
    page.get_by_role("slider", name="score of cat").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    values = [1, 2, 1, 1, 1, 1]
    assert_shows(page, ScoresLab([0, 3, 1.25, 0, 0, -1], values, key=2))
    page.keyboard.press("Home")
    assert_shows(page, ScoresLab([0, 3, -4, 0, 0, -1], values, key=2))
    confirm(page.get_by_label("score, exactly"), "2.2")
    confirm(page.get_by_label("value", exact=True), "-3")
    assert_shows(page, ScoresLab([0, 3, 2.2, 0, 0, -1], [1, 2, -3, 1, 1, 1], key=2))


def test_a_key_is_removed_and_comes_back(open_figure):
    page = open_figure(ScoresLab())
    page.get_by_label("key", exact=True).select_option("5: mat")
    page.get_by_label("is there").uncheck()
    assert_shows(page, ScoresLab(key=5, removed=[5]))
    alone = dict.fromkeys(RULES, "moved") | {"sigmoid": "the same"}
    assert column(page, "others are") == alone
    said(page, "Other keys weigh the same under: sigmoid.")
    page.get_by_label("is there").check()
    assert_shows(page, ScoresLab(key=5))
    assert column(page, "others are") == alone
    page.get_by_role("button", name="All equal").click()
    assert column(page, "others are") == dict.fromkeys(RULES, "")


PRESETS = {
    "One fits": [0, 3, 0, 0, 0, 0],
    "All equal": [0] * 6,
    "None fits": [-4] * 6,
    "Start again": [0, 3, 1, 0, 0, -1],
}


@pytest.mark.parametrize("name", PRESETS)
def test_a_row_can_be_set_at_once(open_figure, name):
    page = open_figure(ScoresLab())
    page.get_by_role("button", name=name, exact=True).click()
    assert_shows(page, ScoresLab(PRESETS[name], [1, 2, 1, 1, 1, 1], key=1))


@pytest.mark.parametrize(
    ("label", "trait"), [("factor", "factor"), ("λ", "part"), ("s", "sink"), ("g", "gate")]
)
def test_the_number_of_every_rule_is_slid_over_its_range(open_figure, label, trait):
    page = open_figure(ScoresLab())
    dial, field = (page.get_by_label(name, exact=True) for name in (label, f"{label}, exactly"))
    for key in ("Home", "ArrowRight", "ArrowRight", "PageUp", "End"):
        dial.press(key)
        assert_shows(page, ScoresLab(**{trait: float(field.input_value())}))
    page.get_by_role("button", name="Start again").click()
    assert_shows(page, ScoresLab())


def test_a_bar_is_as_high_as_its_weight(open_figure):
    page, lab = open_figure(ScoresLab(part=1)), ScoresLab(part=1)
    rem = page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)")
    for rule, row in lines(page).items():
        bars = row.locator(".mhsa-bar")
        heights = bars.evaluate_all("all => all.map(one => one.getBoundingClientRect().height)")
        wanted = (3 * rem * lab.by_rule[rule].abs()).tolist()
        assert heights == pytest.approx(wanted, abs=0.2), rule
        below = bars.evaluate_all("all => all.map(one => one.className.includes('negative'))")
        assert below == (lab.by_rule[rule] < 0).tolist()


@pytest.mark.parametrize("bad", ["", "99", "-5"])
def test_a_number_that_does_not_fit_is_explained_and_changes_nothing(open_figure, bad):
    page = open_figure(ScoresLab())
    confirm(page.get_by_label("value", exact=True), bad)
    expect(page.get_by_role("alert")).to_have_text("value must be a number from -4 to 4.")
    assert_shows(page, ScoresLab())


def test_setting_a_trait_redraws_and_ending_the_figure_stops_listening(open_figure):
    lab = ScoresLab()
    page = open_figure(lab)
    mount_again(page, lab)
    assert page.evaluate("saved") == 0
    page.evaluate("model.set('removed', [0, 1]); model.set('factor', 5); model.set('key', 2)")
    assert_shows(page, ScoresLab(removed=[0, 1], factor=5, key=2))
    page.evaluate("end()")
    assert page.evaluate("listening()") == 0


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_moves_when_a_key_goes_or_a_dial_turns(open_figure, width):
    page = open_figure(ScoresLab([3.0] + [0.0] * 19), width=width)
    places = set()

    def look():
        body = page.locator(".mhsa-body").bounding_box()
        last = page.locator(".mhsa-strip").last.bounding_box()
        places.add((body["height"], last["y"] - body["y"], last["x"], last["width"]))

    look()
    page.get_by_label("is there").uncheck()
    look()
    for key in ("Home", *["ArrowRight"] * 8):
        page.get_by_label("factor", exact=True).press(key)
        look()
    assert len(places) == 1
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_dragged_score_answers_within_a_blink(open_figure, report):
    page = open_figure(ScoresLab([3.0] + [0.0] * 19))
    keys = "ArrowUp", "ArrowDown"
    took = min(milliseconds(page, "[role=slider]", "keydown", keys) for _ in range(3))
    report(f"scores lab: {took:.1f} ms a step of a score")
    assert took < allowed(page, 50)
