"""A reader of the cost lab: every choice, its words and its numbers."""

import pytest

from mhsa_book.costs.configurations import find
from mhsa_book.widgets import CostLab
from tests.mhsa_book.widgets.conftest import allowed, confirm, milliseconds, said, table


def test_decoding_is_bound_by_memory_in_words_and_numbers(open_figure):
    page = open_figure(CostLab())
    words = said(page, "on the H200 SXM, whose ridge is 206")
    sizes = "GQA: 8 of 32, configured, 131,072 tokens, batch 1, bfloat16,"
    assert words.startswith(f"One token of Llama 3.1 8B, {sizes}")
    assert "scores + mix is memory-bound: 4.0 FLOPs per byte, 52 times below it" in words
    assert "The cache of 16 GiB takes 12 % of the 131 GiB of one H200 SXM" in words
    stage = table(page, "The three stages, all layers")["scores + mix"]
    assert stage[1:] == ["16 GiB", "4.0", "memory", "3.58 ms"]
    assert table(page, "Bytes, beside")["cache, MHA: 32 of 32"][-1] == "64 GiB"


def test_every_choice_is_operated(open_figure):
    page = open_figure(CostLab())
    page.get_by_label("n_kv_heads").select_option("MHA: 32 of 32")
    assert table(page, "The three stages")["scores + mix"][-1] == "14.3 ms"
    said(page, "scores + mix is memory-bound: 1.0 FLOPs per byte, 206 times below it")
    page.get_by_label("cache dtype").select_option("int8")
    assert table(page, "Bytes, beside")["cache, MHA: 32 of 32"][-1] == "32 GiB"
    page.get_by_label("model").select_option("Llama 3.1 405B")
    page.get_by_label("n_kv_heads").select_option(index=1)
    page.get_by_label("cache dtype").select_option("float32")
    confirm(page.get_by_label("batch, exactly"), "2")
    cache = find("Llama 3.1 405B").cache_bytes(131_072, batch=2, itemsize=4)
    assert cache == 252 * 2**30
    assert table(page, "Bytes, beside")["cache, GQA: 8 of 128, configured"][-1] == "252 GiB"
    said(page, "252 GiB does not fit: it is 1.9 times the 131 GiB")
    page.get_by_label("phase").select_option("prefill")
    page.get_by_label("accelerator", exact=True).select_option("A100 40 GB")
    page.get_by_label("context", exact=True).focus()
    page.keyboard.press("ArrowLeft")
    assert "65,536 tokens, batch 2" in said(page, "on the A100 40 GB, whose ridge is 201")
    assert page.get_by_label("context, exactly").input_value() == "65536"
    fused = table(page, "The three stages")["scores + mix"]
    page.get_by_label("fused").focus()
    page.keyboard.press("Space")
    written = table(page, "The three stages")["scores + mix"]
    assert fused[3] == "arithmetic"
    assert written[2:4] == ["63.9", "memory"]


def test_the_points_lie_on_the_roof(open_figure):
    page = open_figure(CostLab())
    labels = page.locator(".mhsa-point text").all_text_contents()
    assert sorted(labels) == sorted(
        f"{phase}: {stage}"
        for phase in ("prefill", "decode")
        for stage in ("project", "scores + mix", "W_O")
    )
    assert page.locator(".mhsa-point.mhsa-other").count() == 3
    places = page.locator(".mhsa-roof").evaluate("""roof => {
      const path = roof.querySelector(".mhsa-roof-line");
      const near = (x, y) => Math.min(...Array.from({ length: 2000 }, (_, i) => {
        const at = path.getPointAtLength(path.getTotalLength() * i / 1999);
        return Math.hypot(at.x - x, at.y - y); }));
      return [...roof.querySelectorAll(".mhsa-point line")].map(line =>
        near(line.x1.baseVal.value, line.y1.baseVal.value)); }""")
    assert len(places) == 6
    assert max(places) < 1


def test_a_dtype_without_tensor_cores_is_said(open_figure):
    page = open_figure(CostLab(accelerator="T4"))
    alert = page.get_by_role("alert")
    assert (
        alert.text_content()
        == "The T4 has no tensor cores for bfloat16; choose float16 or float32."
    )
    limits = page.get_by_role("table", name="The three stages")
    assert limits.count() == 0  # hidden
    page.get_by_label("dtype", exact=True).select_option("float16")
    assert limits.is_visible()
    assert alert.text_content() == ""
    assert "whose ridge is 203" in said(page, "on the T4")


@pytest.mark.parametrize("typed", ["", "0", "-1", "2.5", "1e300", "1048577"])
def test_what_is_no_size_is_said_and_changes_nothing(open_figure, typed):
    page = open_figure(CostLab())
    confirm(page.get_by_label("context, exactly"), typed)
    assert (
        "context must be a whole number from 1 to 1048576"
        in page.get_by_role("alert").text_content()
    )
    assert table(page, "Bytes, beside")["cache, GQA: 8 of 32, configured"][-1] == "16 GiB"


@pytest.mark.parametrize(("width", "theme"), [(390, "dark"), (390, "light"), (1000, "dark")])
def test_it_fits_its_column_with_the_largest_numbers(open_figure, width, theme):
    most = {"context": 1_048_576, "batch": 1024, "fused": False, "cache_dtype": "float32"}
    page = open_figure(CostLab(model="Llama 3.1 405B", **most), width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    text = page.locator(".mhsa-cost-lab .mhsa-body").text_content()
    assert "NaN" not in text
    assert "undefined" not in text
    assert "Infinity" not in text


def test_turning_a_dial_is_quick(open_figure, report):
    page = open_figure(CostLab())
    page.locator("input[type=range] >> nth=0").evaluate("input => input.id = 'measured'")
    took = milliseconds(page, "#measured", "keydown", ("ArrowRight", "ArrowLeft"))
    report(f"cost lab: {took:.1f} ms a step of a dial")
    assert took < allowed(page, 50)
