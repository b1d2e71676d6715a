"""Sizes that hold each other: one rule in Python and on the page, and what moves along."""

import itertools

import pytest
from playwright.sync_api import expect

from mhsa_lib import examples, variants, widgets
from mhsa_lib.widgets.cache_calculator import OWN
from mhsa_lib.widgets.sizes import problem_of
from tests.widgets.conftest import confirm, node, told

NAMES = "d_model", "n_heads", "n_kv_heads", "d_head"
GPT2 = {"batch": 1, "seq": 1024, "d_model": 768, "n_heads": 12}


def test_the_page_and_python_refuse_the_same_sizes_in_the_same_words():
    every = itertools.product(range(1, 17), range(1, 9), range(1, 9), (None, 1, 5))
    states = [dict(zip(NAMES, sizes, strict=True)) for sizes in every]
    found = node("shared/size_rules", *(("problemOf", state) for state in states))
    assert found == [problem_of(**state) for state in states]
    assert None in found
    assert len(set(found)) > 100


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        (widgets.ShapeTracer(d_model=512, n_heads=5), "n_heads=5 does not divide d_model=512"),
        (widgets.ShapeTracer(n_kv_heads=2), "n_kv_heads=2 does not divide n_heads=3"),
        (widgets.HeadBudget(n_heads=5), "try d_model=510 or d_model=515, or set d_head."),
        (widgets.CacheCalculator(model=OWN, n_kv_heads=5), "try n_kv_heads=4 or n_kv_heads=8"),
    ],
)
def test_a_state_that_cannot_be_shown_says_so_in_python_and_without_a_script(figure, words):
    assert words in figure.refusal
    assert f"<noscript><p>{figure.refusal}</p></noscript>" in figure.html()


def test_sizes_that_go_together_have_no_problem():
    attention = variants.GroupedQueryAttention(12, 3, 1)
    figures = [
        widgets.ShapeTracer(d_head=7, n_heads=5),
        widgets.ShapeTracer.of(attention),
        widgets.HeadBudget(d_head=7, n_heads=5),
        widgets.CacheCalculator(),
        widgets.MaskLab(),
    ]
    assert [figure.refusal for figure in figures] == [None] * 5


def test_heads_for_keys_move_along_in_python_where_they_were_as_many():
    tracer = widgets.ShapeTracer(d_model=768, n_heads=12)
    tracer.n_heads = 8
    assert (tracer.n_kv_heads, tracer.refusal) == (8, None)
    tracer.n_kv_heads = 4
    tracer.n_heads = 12
    assert tracer.n_kv_heads == 4
    assert widgets.ShapeTracer(d_model=768, n_heads=12, n_kv_heads=3).n_kv_heads == 3


def test_heads_go_over_divisors_move_along_with_the_width_and_come_back_with_it():
    most = {"d_model": 16_384, "n_heads": 128, "n_kv_heads": 128, "d_head": 512}
    wished = {"n_heads": 12, "n_kv_heads": None}  # for keys as many as there are
    gpt2 = dict(zip(NAMES, (768, 12, 12, None), strict=True))
    (stops,) = node("shared/size_rules", ("left", "n_heads", gpt2, most))
    assert stops == [n for n in range(1, 129) if 768 % n == 0]
    moves = ("settled", gpt2 | {"d_model": 512}, "d_model", wished, most)
    (there,) = node("shared/size_rules", moves)
    assert (there["n_heads"], there["n_kv_heads"]) == (16, 16)
    (back,) = node("shared/size_rules", ("settled", there | {"d_model": 768}, *moves[2:]))
    assert back == gpt2


# --- in the browser --------------------------------------------------------------------------


def exactly(page, name: str):
    return page.get_by_label(f"{name}, exactly")


def sizes(page, *names: str) -> list[int]:
    return [int(exactly(page, name).input_value()) for name in names]


def along(page) -> str:
    return page.locator(".mhsa-notice [aria-live]").inner_text()


def slide(page, name: str, *keys: str) -> None:
    for key in keys:
        page.get_by_label(name, exact=True).press(key)


def test_heads_move_along_with_the_width_and_come_back_with_it(open_figure):
    page = open_figure(widgets.ShapeTracer(**GPT2))
    slide(page, "d_model", "ArrowLeft")
    assert sizes(page, "d_model", "n_heads", "n_kv_heads", "d_head") == [512, 16, 16, 32]
    assert along(page) == (
        "n_heads 12 → 16, the nearest that divides d_model 512. "
        "n_kv_heads 12 → 16, as many as n_heads."
    )
    expect(page.locator(".mhsa-notice .mhsa-quiet")).to_contain_text("512 / 16 = 32 = d_head")
    slide(page, "d_model", "ArrowRight")
    assert sizes(page, "d_model", "n_heads", "n_kv_heads", "d_head") == [768, 12, 12, 64]


def test_what_lies_between_two_valid_states_is_never_said(open_figure):
    page = open_figure(widgets.ShapeTracer(**GPT2))
    page.evaluate("""() => {
      window.alerts = [];
      const alert = document.querySelector("[role=alert]");
      const see = (records) => alerts.push(...records.map(() => alert.textContent));
      new MutationObserver(see).observe(alert, { childList: true, characterData: true });
    }""")
    slide(page, "d_model", "ArrowLeft", "ArrowRight", "Home", "End")
    assert page.evaluate("alerts") == []
    confirm(exactly(page, "n_heads"), "10")
    assert page.evaluate("alerts.length") == 1


def test_sliders_of_heads_hold_the_divisors_and_say_so_in_words(open_figure):
    page = open_figure(widgets.ShapeTracer(**GPT2))
    slide(page, "n_heads", "Home")
    seen = [sizes(page, "n_heads")[0]]
    while seen[-1] < 128 and len(seen) < 99:
        slide(page, "n_heads", "ArrowRight")
        seen += sizes(page, "n_heads")
    assert seen == [n for n in range(1, 129) if 768 % n == 0]
    words = page.get_by_label("n_heads", exact=True).get_attribute("aria-valuetext")
    assert words == "128 heads"
    slide(page, "n_kv_heads", "ArrowLeft", "ArrowLeft")
    assert sizes(page, "n_heads", "n_kv_heads") == [128, 32]
    slide(page, "n_heads", "Home")
    assert (sizes(page, "n_kv_heads"), "n_kv_heads 32 → 1" in along(page)) == ([1], True)
    slide(page, "n_heads", "End")
    assert sizes(page, "n_kv_heads") == [32]


def test_ten_heads_of_gpt2_are_refused_and_a_width_of_their_own_repairs_them(open_figure):
    page = open_figure(widgets.ShapeTracer(**GPT2))
    confirm(exactly(page, "n_heads"), "10")
    alert = page.get_by_role("alert")
    expect(alert).to_have_text(told(problem_of(768, 10, 10, None)))
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


DIALS = {
    "ShapeTracer": (lambda: widgets.ShapeTracer(**GPT2), "n_heads", "10"),
    "HeadBudget": (lambda: widgets.HeadBudget(n_heads=32), "n_heads", "5"),
    "CacheCalculator": (widgets.CacheCalculator, "n_kv_heads", "16"),
    "CostLab": (widgets.CostLab, "batch", "12"),
    "ScaleLab": (widgets.ScaleLab, "d_head", "100"),
    "MaskLab": (lambda: widgets.MaskLab(kind="prefix"), "prefix", "1e9"),
}


@pytest.mark.parametrize("name", DIALS)
def test_a_number_counts_when_it_is_confirmed_and_escape_restores_it(open_figure, name):
    make, dial, text = DIALS[name]
    page = open_figure(make())
    field, body = exactly(page, dial), page.locator(".mhsa-body")
    old, before = field.input_value(), body.inner_text()
    field.fill("")
    page.keyboard.type(text)
    page.wait_for_timeout(300)
    assert body.inner_text() == before
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert (field.input_value(), body.inner_text()) == (old, before)
    confirm(field, "0")
    assert page.get_by_role("alert").inner_text() != ""
    page.keyboard.press("Escape")
    assert (field.input_value(), field.get_attribute("aria-invalid")) == (old, "false")
    assert body.inner_text() == before


def test_a_number_is_confirmed_when_the_reader_goes_on(open_figure):
    page = open_figure(widgets.ShapeTracer(**GPT2))
    exactly(page, "n_heads").fill("16")
    page.keyboard.press("Tab")
    assert sizes(page, "n_heads", "n_kv_heads", "d_head") == [16, 16, 48]


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


@pytest.mark.parametrize(
    ("start", "typed", "moved"),
    [
        ((512, 8), [("d_model", "1024")], ""),
        ((768, 12), [("d_model", "7"), ("d_model", "768")], "n_heads 7 → 12"),
        ((513, 57), [("d_model", "509")], "n_heads 57 → 509"),
        ((768, 12), [("n_heads", "10"), ("d_model", "770")], ""),
        ((768, 12), [("n_heads", "10"), ("d_model", "1024")], "n_heads 10 → 8"),
    ],
)
def test_what_moved_along_is_told_from_the_last_sizes_that_were_right(
    open_figure, start, typed, moved
):
    page = open_figure(widgets.HeadBudget(d_model=start[0], n_heads=start[1]))
    for name, text in typed:
        exactly(page, name).click()
        exactly(page, name).press("Control+a")
        page.keyboard.type(text)
        page.keyboard.press("Enter")
    assert along(page).partition(",")[0] == moved


def test_what_moved_while_something_was_wrong_is_told_when_it_is_right(open_figure):
    page = open_figure(widgets.ShapeTracer(**GPT2))
    confirm(exactly(page, "n_heads"), "10")
    confirm(exactly(page, "d_model"), "770")
    assert along(page) == "n_kv_heads 12 → 10, as many as n_heads."


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
    expect(page.get_by_role("alert")).to_have_text(told(tracer.refusal))
    page.get_by_role("button", name="n_kv_heads = 4").click()
    assert page.get_by_role("alert").inner_text() == ""
    assert "kv_head 4" in page.get_by_role("table").inner_text()


def test_moving_d_head_unties_it_and_says_so(open_figure):
    page = open_figure(widgets.HeadBudget())
    slide(page, "d_head", "ArrowRight")
    assert not page.get_by_label("d_head = d_model / n_heads").is_checked()
    assert sizes(page, "n_heads", "d_head") == [8, 96]
    assert "d_head is no longer d_model / n_heads" in along(page)


def test_heads_for_keys_move_along_in_the_cache_and_the_sizes_become_ones_own(open_figure):
    page = open_figure(widgets.CacheCalculator(model="Llama 3.1 8B"))
    slide(page, "n_heads", "ArrowLeft", "ArrowLeft", "ArrowLeft")
    assert sizes(page, "n_heads", "n_kv_heads") == [12, 6]
    assert along(page) == "n_kv_heads 8 → 6, the nearest that divides n_heads 12."
    assert page.get_by_label("model").input_value() == OWN
    page.get_by_label("model").select_option("Llama 3.1 70B")
    assert (sizes(page, "n_heads", "n_kv_heads"), along(page)) == ([64, 8], "")


def test_one_head_for_all_of_a_single_head_is_plain_attention(open_figure):
    page = open_figure(widgets.CacheCalculator(kind="MQA"))
    slide(page, "n_heads", "Home")
    assert page.get_by_label("kind", exact=True).input_value() == "MHA"


def test_the_dtype_moves_along_with_the_accelerator_and_comes_back(open_figure):
    page = open_figure(widgets.CostLab())
    accelerator = page.get_by_label("accelerator", exact=True)
    dtype = page.get_by_label("dtype", exact=True)
    accelerator.select_option("T4")
    assert dtype.input_value() == "float16"
    said = "dtype bfloat16 → float16: the T4 has no tensor cores for bfloat16."
    assert along(page) == said
    assert dtype.locator("option:disabled").all_inner_texts() == ["bfloat16"]
    accelerator.select_option("H200 SXM")
    assert (dtype.input_value(), along(page)) == (
        "bfloat16",
        "dtype float16 → bfloat16: as before.",
    )
    dtype.select_option("float32")
    accelerator.select_option("T4")
    assert (dtype.input_value(), along(page)) == ("float32", "")


@pytest.mark.parametrize("change", ["context", "batch", "phase", "fused"])
def test_what_moved_along_is_said_until_the_next_change(open_figure, change):
    page = open_figure(widgets.CostLab())
    for name in ("T4", "H200 SXM"):
        page.get_by_label("accelerator", exact=True).select_option(name)
    assert along(page) == "dtype float16 → bfloat16: as before."
    page.set_viewport_size({"width": 700, "height": 900})  # is no change
    page.wait_for_timeout(50)
    assert along(page) == "dtype float16 → bfloat16: as before."
    if change == "phase":
        page.get_by_label(change).select_option("prefill")
    elif change == "fused":
        page.get_by_label(change).uncheck()
    else:
        slide(page, change, "ArrowLeft" if change == "context" else "ArrowRight")
    assert along(page) == ""


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
    page = open_figure(widgets.HeadExplorer(hidden=list(examples.SENTENCE)))
    page.get_by_role("button", name="show all again").click()
    assert page.get_by_role("alert").inner_text() == ""
    assert page.locator(".mhsa-tokens input:checked").count() == 0


MISTYPED = {
    "ShapeTracer": (widgets.ShapeTracer, "seq, exactly", "1e9", "seq = 131072"),
    "HeadBudget": (widgets.HeadBudget, "n_heads, exactly", "6.6", "n_heads = 8"),
    "CacheCalculator": (widgets.CacheCalculator, "tokens, exactly", "", "tokens = 131072"),
    "CostLab": (widgets.CostLab, "batch, exactly", "-3", "batch = 1"),
    "ScaleLab": (widgets.ScaleLab, "d_head, exactly", "2000", "d_head = 1024"),
    "MaskLab": (lambda: widgets.MaskLab(kind="prefix"), "prefix, exactly", "99", "prefix = 6"),
    "RepeaterLab": (widgets.RepeaterLab, "Text", "Ab–c!", "text = “abc”"),
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


def test_typing_the_same_number_again_unsays_a_mistake(open_figure):
    page = open_figure(widgets.ShapeTracer())
    confirm(exactly(page, "seq"), "")
    confirm(exactly(page, "seq"), "6")
    assert page.get_by_role("alert").inner_text() == ""
    assert exactly(page, "seq").get_attribute("aria-invalid") == "false"


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
