"""The shape tracer: the same numbers as a trace, mistakes in the words of the library."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import expect
from traitlets import TraitError

from mhsa_lib import MultiHeadAttention, checks, trace
from mhsa_lib.shapes import HeadOutputs, HeadRows
from mhsa_lib.stages import Concat
from mhsa_lib.trace.ledger import short
from mhsa_lib.variants import GroupedQueryAttention
from mhsa_lib.widgets import ShapeTracer
from mhsa_lib.widgets.shape_tracer import recipe
from tests.battery.members import STAGED
from tests.widgets.conftest import confirm, milliseconds, node, told


def grouped(d_model: int, n_heads: int, n_kv_heads: int, d_head: int) -> MultiHeadAttention:
    return GroupedQueryAttention(d_model, n_heads, n_kv_heads, d_head=d_head)


@st.composite
def sizes(draw):
    n_kv_heads, group, d_head = (draw(st.integers(1, 6)) for _ in range(3))
    n_heads = n_kv_heads * group
    free = draw(st.booleans())
    return {
        "batch": draw(st.integers(1, 5)),
        "seq": draw(st.integers(1, 40)),
        "d_model": draw(st.integers(1, 50)) if free else n_heads * d_head,
        "n_heads": n_heads,
        "n_kv_heads": n_kv_heads,
        "d_head": d_head if free else None,
    }


def in_javascript(given, itemsize: int):
    """Rows and totals of the ledger, computed by the page's own code."""
    (axes,) = node("shape_tracer/ledger", ("axisSizes", given))
    (rows,) = node("shape_tracer/ledger", ("ledger", recipe(), axes, itemsize))
    (sums,) = node("shape_tracer/ledger", ("totals", rows))
    return rows, sums


def traced(given, dtype):
    width = given["d_head"] or given["d_model"] // given["n_heads"]
    with torch.device("meta"):
        mha = grouped(given["d_model"], given["n_heads"], given["n_kv_heads"], width).to(dtype)
        x = torch.empty(given["batch"], given["seq"], given["d_model"], dtype=dtype)
    with torch.no_grad(), trace(mha) as wires:
        mha(x)
    return mha, wires


@settings(max_examples=12, deadline=None)
@given(given=sizes(), dtype=st.sampled_from([torch.float32, torch.float64, torch.float16]))
def test_every_number_is_that_of_a_trace(given, dtype):
    mha, wires = traced(given, dtype)
    rows, sums = in_javascript(given, dtype.itemsize)
    for row, step in zip(rows, wires.steps.values(), strict=True):
        assert (row["wire"], tuple(row["shape"])) == (step.wire, step.shape)
        assert row["axes"] == list(step.axes)
        assert (row["result"], row["bytes"]) == (step.result, step.bytes)
        assert row["flops"] == step.flops
    assert sums["parameters"] == sum(p.numel() for p in mha.parameters())
    assert sums["flops"] == wires.flops


@pytest.mark.parametrize("variant", STAGED, ids=lambda variant: variant.name)
def test_it_takes_every_variant_and_follows_its_trace(variant):
    attention = variant.build().requires_grad_(False)
    tracer = ShapeTracer.of(attention)
    inputs = [{"batch": b, "seq": n} for b, n in ((1, 1), (3, 1), (1, 4), (2, 9))]
    axes = node("shape_tracer/ledger", *[("axisSizes", each, tracer.fixed) for each in inputs])
    ledgers = node(
        "shape_tracer/ledger", *[("ledger", tracer.recipe, each, 4) for each in axes]
    )
    for each, rows in zip(inputs, ledgers, strict=True):
        with torch.no_grad(), trace(attention) as wires:
            attention(torch.zeros(each["batch"], each["seq"], attention.d_model))
        for row, step in zip(rows, wires.steps.values(), strict=True):
            assert (row["wire"], tuple(row["shape"])) == (step.wire, step.shape)
            assert (row["result"], row["flops"]) == (step.result, step.flops), step.wire
    total = sum(parameter.numel() for parameter in attention.parameters())
    assert sum(row["parameters"] for row in rows) == total


def test_flops_that_grow_in_another_way_are_refused():
    class Cubic(Concat):
        def forward(self, z: HeadOutputs) -> HeadRows:
            n = z.shape[-2]
            return super().forward(z) + (torch.ones(n, n * n) @ torch.ones(n * n, 1)).sum() * 0

    with pytest.raises(ValueError, match="a dial follows only those that grow with seq"):
        ShapeTracer.of(MultiHeadAttention(12, 3, concat=Cubic()))


def words_of(function, *args):
    """The words with which the library refuses these sizes; None if it takes them."""
    try:
        function(*args)
    except ValueError as error:
        return str(error)
    return None


def test_sizes_that_do_not_go_together_are_refused_in_the_words_of_the_library():
    cases = [(d, h, g) for d in range(1, 14) for h in range(1, 8) for g in range(1, 8)]
    calls = [
        ("wrongSizes", {"d_model": d, "n_heads": h, "n_kv_heads": g, "d_head": None})
        for d, h, g in cases
    ]
    for (d, h, g), said in zip(cases, node("shared/size_rules", *calls), strict=True):
        wanted = words_of(checks.head_width, d, h)
        if wanted is None and h % g:
            (part, count), (whole, size) = ("n_kv_heads", g), ("n_heads", h)
            wanted = words_of(lambda s, c: checks.divides(n_heads=s, n_kv_heads=c), size, count)
            assert f"{part}={count} does not divide {whole}={size}" in wanted
        assert said == wanted


def test_counts_are_shortened_as_in_the_ledger_of_a_trace():
    counts = [0, 7, 999, 9_999, 10_000, 10_050, 99_949, 99_999, 999_499, 999_500, 33_554_432]
    counts += [2**k for k in range(10, 53)] + [10**k - 1 for k in range(4, 15)]
    found = node("shared/numbers", *[("short", count) for count in counts])
    assert found == [short(count) for count in counts]


def test_a_size_outside_its_dial_is_refused():
    with pytest.raises(TraitError, match=r"'n_heads'.* not be greater than 128.*200"):
        ShapeTracer(n_heads=200)


# --- in the browser --------------------------------------------------------------------------


def rows_of(page):
    texts = """rows => rows.map((row) => [
      row.querySelector("th code").innerText,
      [...row.querySelectorAll("td")].map((td) => td.innerText)])"""
    return dict(page.locator(".mhsa-shape-tracer tbody tr").evaluate_all(texts))


def dial(page, name: str):
    return page.get_by_label(name, exact=True)


def exactly(page, name: str):
    return page.get_by_label(f"{name}, exactly")


def test_typing_a_size_changes_every_row(open_figure):
    page = open_figure(ShapeTracer(batch=2, seq=6, d_model=12, n_heads=3))
    confirm(exactly(page, "seq"), "100")
    rows = rows_of(page)
    assert rows["weights"][0] == "batch 2 head 3 query 100 key 100"
    assert rows["weights"][3] == short(2 * 3 * 100 * 100 * 4)
    said = page.get_by_role("status")
    expect(said).to_contain_text("100 × 100 numbers for each of 2 × 3 heads")


def test_arrow_keys_go_to_the_next_power_of_two_and_what_was_given_stays_a_stop(open_figure):
    page = open_figure(ShapeTracer(batch=2, seq=6, d_model=12, n_heads=3))
    dial(page, "seq").focus()
    keys = ["Right", "Right", "Left", "Left", "Left", "Left"]
    seen = [press(page, f"Arrow{key}", "seq") for key in keys]
    assert seen == ["8", "16", "8", "6", "4", "2"]
    confirm(exactly(page, "seq"), "1000")
    exactly(page, "seq").press("ArrowUp")  # in the field as well
    assert exactly(page, "seq").input_value() == "1024"
    exactly(page, "seq").press("ArrowDown")
    assert exactly(page, "seq").input_value() == "1000"


def press(page, key: str, name: str) -> str:
    page.keyboard.press(key)
    return exactly(page, name).input_value()


def test_dragging_a_slider_to_its_end_reaches_the_largest_size(open_figure):
    page = open_figure(ShapeTracer())
    place = dial(page, "seq").bounding_box()
    page.mouse.click(place["x"] + place["width"] - 1, place["y"] + place["height"] / 2)
    assert exactly(page, "seq").input_value() == "131072"


def test_heads_that_do_not_divide_are_explained_and_repaired(open_figure):
    page = open_figure(ShapeTracer(d_model=12, n_heads=3))
    before = rows_of(page)
    confirm(exactly(page, "n_heads"), "5")
    alert = page.locator("[role=alert]")
    assert alert.inner_text() == told(words_of(checks.head_width, 12, 5))
    assert rows_of(page) == before
    confirm(exactly(page, "d_model"), "15")
    confirm(exactly(page, "n_kv_heads"), "5")
    assert alert.inner_text() == ""
    assert "d_head 3" in rows_of(page)["z"][0]


def test_a_free_width_of_heads_needs_no_division(open_figure):
    page = open_figure(ShapeTracer(d_model=12, n_heads=3))
    page.get_by_label("d_head = d_model / n_heads").uncheck()
    confirm(exactly(page, "d_head"), "7")
    confirm(exactly(page, "d_model"), "10")
    assert page.locator("[role=alert]").inner_text() == ""
    assert rows_of(page)["concat"][0] == "batch 2 query 6 d_heads 21"


@pytest.mark.parametrize("typed", ["", "0", "-3", "2.5", "1e9", "999999999999999999999"])
def test_what_is_no_size_is_said_and_changes_nothing(open_figure, typed):
    page = open_figure(ShapeTracer())
    before = rows_of(page)
    confirm(exactly(page, "seq"), typed)
    said = "seq must be a whole number from 1 to 131072."
    assert page.locator("[role=alert]").inner_text() == said
    assert exactly(page, "seq").get_attribute("aria-invalid") == "true"
    assert rows_of(page) == before


def test_the_dtype_halves_the_bytes(open_figure):
    page = open_figure(ShapeTracer())
    full = rows_of(page)["weights"][3]
    page.get_by_label("dtype").select_option("bfloat16")
    assert float(rows_of(page)["weights"][3]) == float(full) / 2


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_it_fits_its_page(open_figure, width, theme):
    page = open_figure(
        ShapeTracer(d_model=4096, n_heads=32, seq=8192), width=width, theme=theme
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_an_interaction_takes_less_than_50_ms(open_figure, report):
    page = open_figure(ShapeTracer())
    keys = ("ArrowRight", "ArrowLeft")
    took = milliseconds(page, "input[type=range]", "keydown", keys)
    report(f"shape tracer: {took:.1f} ms for a step of a slider")
    assert took < 50


def test_the_figure_survives_when_its_numbers_come_back_from_python():
    tracer = ShapeTracer(n_heads=3)
    tracer.seq, tracer.d_head, tracer.dtype = 64, 16, "bfloat16"
    state = tracer.state()
    assert (state["seq"], state["d_head"], state["dtype"]) == (64, 16, "bfloat16")
    assert '"seq": 64' in tracer.html()
