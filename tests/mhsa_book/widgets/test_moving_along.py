"""What a reader moves takes along what hangs on it, says so, and brings it back."""

import pytest
from playwright.sync_api import expect

from mhsa_book import widgets
from mhsa_book.widgets.cache_calculator import OWN
from tests.mhsa_book.widgets.conftest import confirm
from tests.mhsa_book.widgets.dials import GPT2, along, exactly, sizes, slide


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
