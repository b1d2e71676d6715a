"""What does not fit is explained over an earlier state in grey, and a button repairs it."""

import pytest
from playwright.sync_api import expect

from mhsa_book import examples, widgets
from mhsa_book.widgets.sizes import problem_of
from tests.mhsa_book.widgets.conftest import confirm, without_advice
from tests.mhsa_book.widgets.dials import GPT2, along, exactly, sizes, slide
from tests.mhsa_book.widgets.six_words import mask_lab


def test_ten_heads_of_gpt2_are_refused_and_a_width_of_their_own_repairs_them(open_figure):
    page = open_figure(widgets.ShapeTracer(**GPT2))
    confirm(exactly(page, "n_heads"), "10")
    alert = page.get_by_role("alert")
    expect(alert).to_have_text(without_advice(problem_of(768, 10, 10, None)))
    assert exactly(page, "n_heads").get_attribute("aria-invalid") == "true"
    slider = page.get_by_label("n_heads", exact=True)
    assert slider.get_attribute("aria-valuetext") == "10 heads, which does not fit"
    page.get_by_label("d_head = d_model / n_heads").uncheck()
    expect(alert).to_have_text("")
    assert sizes(page, "n_heads", "n_kv_heads", "d_head") == [10, 10, 77]
    page.get_by_label("d_head = d_model / n_heads").check()  # ten would be wrong again
    assert sizes(page, "n_heads", "n_kv_heads", "d_head") == [12, 12, 64]
    assert "n_heads 10 → 12" in along(page)


REPAIRS = ["n_heads = 8", "n_heads = 12", "d_model = 760", "d_model = 770", "d_head = 77"]


def test_every_repair_is_a_button_that_repairs_and_leaves_the_focus_near(open_figure):
    page = open_figure(widgets.ShapeTracer(**GPT2))
    buttons = page.get_by_role("group", name="Repairs").get_by_role("button")
    for repair in REPAIRS:
        confirm(exactly(page, "d_model"), "768")
        confirm(exactly(page, "n_heads"), "10")
        assert buttons.all_inner_texts() == REPAIRS
        buttons.get_by_text(repair).press("Enter")
        assert page.get_by_role("alert").inner_text() == ""
        assert buttons.count() == 0
        name, size = repair.split(" = ")
        assert sizes(page, name) == [int(size)]
        assert page.evaluate("document.activeElement.className").startswith("mhsa-notice")
        page.get_by_label("d_head = d_model / n_heads").check()


COLOURS = """() => [...document.querySelectorAll(".mhsa-notice ~ *, .mhsa-stale")].map(
  (one) => [getComputedStyle(one).color, getComputedStyle(one).filter])"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("name", "text"), [("n_heads", "10"), ("seq", "0")])
@pytest.mark.parametrize("make", [widgets.ShapeTracer, widgets.HeadBudget])
def test_while_something_is_wrong_one_earlier_state_is_in_grey(
    open_figure, make, name, text, theme
):
    page = open_figure(make(d_model=768, n_heads=12), theme=theme)
    before, words = page.locator("table").inner_text(), page.get_by_role("status").inner_text()
    right = page.evaluate(COLOURS)
    confirm(exactly(page, name), text)
    page.wait_for_timeout(300)
    assert page.locator("table").inner_text() == before
    assert page.get_by_role("status").inner_text() == words
    assert sizes(page, "d_head") == [64]
    stale = page.locator(".mhsa-stale").count()
    assert stale == (name == "n_heads")  # d_head, which hangs on it
    grey = page.evaluate(COLOURS)
    assert len(grey) == len(right) + stale
    assert len(set(map(tuple, grey))) == 1
    assert grey[0][1] == "grayscale(1)"
    confirm(exactly(page, name), "8")
    assert page.evaluate(COLOURS) == right


def test_an_alert_advises_nothing_that_its_buttons_do_not_offer(open_figure):
    page = open_figure(widgets.ShapeTracer(d_model=768, n_heads=32))
    confirm(exactly(page, "n_kv_heads"), "5")
    assert page.get_by_role("alert").inner_text() == "n_kv_heads=5 does not divide n_heads=32."
    buttons = page.get_by_role("group", name="Repairs").get_by_role("button")
    assert buttons.all_inner_texts() == ["n_kv_heads = 4", "n_kv_heads = 8"]


def test_an_arrow_key_leads_from_a_refused_size_to_the_next_that_fits(open_figure):
    page = open_figure(widgets.ShapeTracer(**GPT2))
    for key, heads in (("ArrowRight", 12), ("ArrowLeft", 8)):
        confirm(exactly(page, "n_heads"), "10")
        slide(page, "n_heads", key)
        assert sizes(page, "n_heads") == [heads]
        assert page.get_by_role("alert").inner_text() == ""


def test_sizes_that_python_sets_are_explained_and_repaired_in_the_figure(open_figure):
    tracer = widgets.ShapeTracer(d_model=768, n_heads=12, n_kv_heads=5)
    page = open_figure(tracer)
    expect(page.get_by_role("alert")).to_have_text(without_advice(tracer.refusal))
    page.get_by_role("button", name="n_kv_heads = 4").click()
    assert page.get_by_role("alert").inner_text() == ""
    assert "kv_head 4" in page.get_by_role("table").inner_text()


def test_the_last_token_cannot_be_hidden(open_figure):
    page = open_figure(widgets.HeadExplorer())
    page.locator("details").first.evaluate("details => details.open = true")
    boxes = page.locator(".mhsa-tokens input[type=checkbox]")
    for i in range(boxes.count() - 1):
        boxes.nth(i).check()
    assert boxes.last.is_disabled()
    assert page.get_by_role("alert").inner_text() == ""
    boxes.first.uncheck()
    assert boxes.last.is_enabled()


def test_all_tokens_hidden_by_python_are_shown_again_by_a_button(open_figure):
    page = open_figure(widgets.HeadExplorer(hidden=list(examples.SENTENCES[0])))
    page.get_by_role("button", name="show all again").click()
    assert page.get_by_role("alert").inner_text() == ""
    assert page.locator(".mhsa-tokens input:checked").count() == 0


MISTYPED = {
    "ShapeTracer": (widgets.ShapeTracer, "seq, exactly", "1e9", "seq = 131072"),
    "HeadBudget": (widgets.HeadBudget, "n_heads, exactly", "6.6", "n_heads = 8"),
    "CacheCalculator": (widgets.CacheCalculator, "tokens, exactly", "", "tokens = 131072"),
    "CostLab": (widgets.CostLab, "batch, exactly", "-3", "batch = 1"),
    "ScaleLab": (widgets.ScaleLab, "d_head, exactly", "2000", "d_head = 1024"),
    "RanksLab": (widgets.RanksLab, "ranks, exactly", "0", "ranks = 1"),
    "TileLab": (widgets.TileLab, "fast memory in bytes, exactly", "5", "memory = 76"),
    "MaskLab": (lambda: mask_lab(kind="prefix"), "prefix, exactly", "99", "prefix = 6"),
    "ComposeLab": (widgets.ComposeLab, "all parts, exactly", "2", "all parts = 1"),
    "ScoresLab": (widgets.ScoresLab, "factor, exactly", "11", "factor = 10"),
    "RepeaterLab": (widgets.RepeaterLab, "Text", "Ab–c!", "text = “abc”"),
    "TranslatorLab": (
        widgets.TranslatorLab,
        "Sentence",
        "rolan ip balo ke rolan ip tino sa tekan ot kero",
        "sentence = “tekan ul meti balo",
    ),
}


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", MISTYPED)
def test_a_mistake_and_its_repair_move_nothing_else(name, width, open_figure):
    make, label, typed, repair = MISTYPED[name]
    page = open_figure(make(), width=width)
    after = page.locator(".mhsa-notice + *")
    before = after.bounding_box()["y"]
    confirm(page.get_by_label(label, exact=True), typed)
    assert page.get_by_role("alert").inner_text() != ""
    assert after.bounding_box()["y"] == before
    page.get_by_role("button", name=repair).click()
    assert page.get_by_role("alert").inner_text() == ""
    assert page.get_by_label(label, exact=True).get_attribute("aria-invalid") == "false"
    assert after.bounding_box()["y"] == before


def test_a_rule_and_its_repairs_move_nothing_else(open_figure):
    for width in (390, 1280):
        page = open_figure(widgets.ShapeTracer(**GPT2), width=width)
        after = page.locator(".mhsa-notice + *")
        before = after.bounding_box()["y"]
        for heads in ("10", "100", "12"):
            confirm(exactly(page, "n_heads"), heads)
            assert after.bounding_box()["y"] == before
        slide(page, "d_model", "ArrowLeft")
        assert after.bounding_box()["y"] == before


@pytest.mark.parametrize(
    ("typed", "repair"), [("1e300", "W_K[0, 0] = 100"), ("", "W_K[0, 0] =")]
)
def test_a_number_of_the_stepper_is_repaired_by_a_button(typed, repair, open_figure):
    page = open_figure(widgets.StageStepper())
    page.locator("td[data-place='W_K 0 0']").click()
    confirm(page.get_by_role("textbox"), typed)
    page.get_by_role("button", name=repair).click()
    assert page.get_by_role("alert").inner_text() == ""
    assert page.get_by_role("textbox").get_attribute("aria-invalid") == "false"
    assert page.evaluate("document.activeElement.dataset.place") == "W_K 0 0"
