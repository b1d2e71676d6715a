"""Heads against width: the numbers of ``costs``, mistakes in the words of the library."""

import random

import pytest
import torch
from traitlets import TraitError

from mhsa_book import costs
from mhsa_book.costs.configurations import TABLE_3A
from mhsa_book.widgets import HeadBudget
from mhsa_book.widgets.head_budget import PUBLISHED, Rings
from mhsa_lib import MultiHeadAttention, checks, trace
from tests.mhsa_book.widgets.conftest import (
    allowed,
    confirm,
    milliseconds,
    node,
    without_advice,
)


def rows(page) -> dict[str, list[str]]:
    """The table as it stands on the screen: name -> one head, now, change."""
    cells = page.locator(".mhsa-head-budget tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.children].map(cell => cell.textContent))"
    )
    return {name: numbers for name, *numbers in cells}


def test_every_row_is_what_the_real_module_has():
    rng = random.Random(5)
    many = [[rng.randint(1, 12) for _ in range(4)] for _ in range(60)]
    names = "d_model", "n_heads", "d_head", "seq"
    found = node(
        "head_budget/budget",
        *(("headBudget", dict(zip(names, sizes, strict=True))) for sizes in many),
    )
    for (d_model, n_heads, d_head, seq), budget in zip(many, found, strict=True):
        mha = MultiHeadAttention(d_model, n_heads, d_head=d_head)
        one = MultiHeadAttention(d_model, 1, d_head=n_heads * d_head)
        expected = [measured(module, seq) for module in (one, mha)]
        assert [row["one"] for row in budget] == expected[0]
        assert [row["now"] for row in budget] == expected[1]


def measured(mha: MultiHeadAttention, seq: int) -> list[int]:
    """The same seven numbers, counted in a module."""
    x = torch.randn(seq, mha.W_O.out_features, dtype=torch.float64, requires_grad=True)
    with trace(mha.double()) as wires:
        mha(x)
    wires["q_heads"][0].sum().backward()
    flops = {wire: step.flops for wire, step in wires.steps.items()}
    W_Q = mha.project.W_Q.weight.unflatten(0, (mha.n_heads, mha.d_head))
    W_K = mha.project.W_K.weight.unflatten(0, (mha.n_heads, mha.d_head))
    return [
        sum(p.numel() for p in mha.parameters()),
        sum(flops[wire] for wire in "qkvy"),
        flops["scores"] + flops["z"],
        int((x.grad != 0).any(dim=0).sum()),
        wires["weights"][:, 0].shape[0],
        int(torch.linalg.matrix_rank(W_Q.mT @ W_K).max()),
        wires["weights"].numel(),
    ]


def test_a_change_is_said_as_a_ratio():
    calls = [("change", 7, 7), ("change", 1, 8), ("change", 512, 64), ("change", 3, 5000)]
    assert node("head_budget/budget", *calls) == ["same", "× 8", "÷ 8", "× 1,670"]


def test_the_state_is_what_python_was_given():
    budget = HeadBudget(d_model=1024, n_heads=16, d_head=128)
    assert budget.width == 2048
    (published,) = budget.state()["rings"]
    assert published["runs"][2] == {"n_heads": 8, "d_head": 64, "said": "25.8 / 4.92"}
    assert len(published["runs"]) == len(TABLE_3A)
    assert HeadBudget(d_model=512, n_heads=5).width == 512
    assert "share 512 numbers of a query" in HeadBudget().alt
    assert HeadBudget(n_heads=5).alt.endswith("now n_heads is 5.")
    assert f'alt="{budget.alt}"' in budget.html()


@pytest.mark.parametrize(
    "wrong", [{"n_heads": 0}, {"d_head": 0}, {"seq": 1.5}, {"d_model": 1e9}]
)
def test_a_size_outside_its_dial_is_refused(wrong):
    with pytest.raises(TraitError, match=next(iter(wrong))):
        HeadBudget(**wrong)


def test_the_reader_turns_the_dials(open_figure):
    page = open_figure(HeadBudget())
    assert rows(page)["distributions for each query"] == ["1", "8", "× 8"]
    confirm(page.get_by_label("n_heads, exactly"), "16")
    found = rows(page)
    count = f"{sum(costs.parameters(512, 16).values()):,}"
    assert found["parameters of W_Q, W_K, W_V, W_O"] == [count, count, "same"]
    assert found["directions in which a score compares, at most"] == ["512", "32", "÷ 16"]
    assert found["numbers in weights"] == ["1,024", "16,384", "× 16"]
    page.get_by_label("seq", exact=True).focus()
    page.keyboard.press("ArrowRight")
    assert rows(page)["numbers in weights"] == [f"{64**2:,}", f"{16 * 64**2:,}", "× 16"]
    page.get_by_label("d_head = d_model / n_heads").uncheck()
    confirm(page.get_by_label("d_head, exactly"), "128")
    assert rows(page)["parameters of W_Q, W_K, W_V, W_O"][1] == f"{4 * 512 * 2048:,}"
    page.wait_for_function("document.querySelector('.mhsa-said').textContent.includes('2,048')")
    said = page.locator(".mhsa-said").text_content()
    assert "n_heads · d_head is 2,048, not d_model: parameters × 4" in said


def test_heads_that_do_not_divide_are_explained_and_repaired(open_figure):
    page = open_figure(HeadBudget())
    confirm(page.get_by_label("n_heads, exactly"), "5")
    with pytest.raises(ValueError, match="n_heads=5") as raised:
        checks.head_width(512, 5)
    alert = page.get_by_role("alert")
    assert alert.text_content() == without_advice(raised.value)
    assert rows(page)["distributions for each query"] == [
        "1",
        "8",
        "× 8",
    ]  # the last good state
    page.get_by_role("button", name="n_heads = 4").focus()
    page.keyboard.press("Enter")
    assert alert.text_content() == ""
    assert rows(page)["distributions for each query"] == ["1", "4", "× 4"]
    assert page.get_by_role("button").count() == 0


@pytest.mark.parametrize("typed", ["", "0", "-3", "1.5", "1e300", "99999"])
def test_what_is_no_size_is_said_and_changes_nothing(open_figure, typed):
    page = open_figure(HeadBudget())
    confirm(page.get_by_label("n_heads, exactly"), typed)
    assert (
        "n_heads must be a whole number from 1 to 512"
        in page.get_by_role("alert").text_content()
    )
    assert rows(page)["distributions for each query"] == ["1", "8", "× 8"]


def test_python_that_starts_with_heads_that_do_not_divide(open_figure):
    page = open_figure(HeadBudget(d_model=512, n_heads=5))
    assert "n_heads=5 does not divide" in page.get_by_role("alert").text_content()
    assert page.get_by_role("table").count() == 0  # nothing is drawn yet
    page.get_by_role("button", name="n_heads = 8").click()
    assert rows(page)["distributions for each query"] == ["1", "8", "× 8"]


def test_the_axis_of_widths_reaches_over_the_line(open_figure):
    page = open_figure(HeadBudget(d_model=16_384, n_heads=512, d_head=16_384))
    height = "all => Math.min(...all.map(one => one.getBoundingClientRect().y))"
    grid = page.locator(".mhsa-chart .mhsa-grid").evaluate_all(height)
    line = page.locator(".mhsa-budget-line").evaluate_all(height)
    assert grid - line < 30  # two octaves of 23


RINGS = """() => {
  const all = [...document.querySelectorAll(".mhsa-chart .mhsa-tick")];
  const rings = all.filter((one) => one.textContent.includes(" / "));
  const boxes = rings.map((one) => one.getBoundingClientRect());
  return boxes.some((a, i) => boxes.some((b, j) => i < j
    && a.left < b.right && b.left < a.right && a.top < b.bottom - 2 && b.top < a.bottom - 2));
}"""


@pytest.mark.parametrize("width", [339, 1280])
@pytest.mark.parametrize("sizes", [{}, {"d_model": 16_384, "n_heads": 512, "d_head": 16_384}])
def test_the_numbers_of_the_rings_do_not_run_into_each_other(open_figure, width, sizes):
    assert not open_figure(HeadBudget(**sizes), width=width).evaluate(RINGS)


@pytest.mark.parametrize(("width", "theme"), [(390, "dark"), (390, "light"), (1000, "dark")])
def test_it_fits_its_column_and_shows_the_published_runs(open_figure, width, theme):
    page = open_figure(HeadBudget(), width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    written = page.locator(".mhsa-chart text").all_text_contents()
    assert {f"{run.bleu:.1f} / {run.perplexity:.2f}" for run in TABLE_3A} <= set(written)
    right = page.locator(".mhsa-chart text").evaluate_all(
        "all => Math.max(...all.map(text => text.getBoundingClientRect().right))"
    )
    assert right <= page.locator(".mhsa-chart").evaluate("c => c.getBoundingClientRect().right")


OURS = Rings(
    "four <look-ups>", "Shares & seeds.", {(4, 8): "0.97", (2, 16): "0.80", (1, 8): "0"}
)


def test_the_reader_chooses_which_layers_are_drawn(open_figure):
    page = open_figure(HeadBudget(d_model=32, n_heads=4, rings=(PUBLISHED, OURS)))
    rings = page.locator(".mhsa-chart .mhsa-run")
    assert rings.count() == len(TABLE_3A)
    assert page.locator(".mhsa-paper-line").count() == 1
    page.get_by_label("rings", exact=True).select_option("four <look-ups>")
    assert rings.count() == 3
    assert {"0.97", "0.80"} <= set(page.locator(".mhsa-chart text").all_text_contents())
    assert page.get_by_text("Shares & seeds.", exact=True).is_visible()
    assert page.locator(".mhsa-paper-line").count() == 1  # two runs have 32 columns, one has 8
    now = page.locator(".mhsa-chart .mhsa-now")
    where = "one => [one.cx, one.cy].map(at => at.baseVal.value)"
    assert rings.first.evaluate(where) == now.evaluate(where)
    page.get_by_label("rings", exact=True).focus()
    page.keyboard.press("ArrowUp")
    assert rings.count() == len(TABLE_3A)


def test_one_set_of_rings_leaves_no_choice(open_figure):
    page = open_figure(HeadBudget())
    assert page.get_by_label("rings", exact=True).count() == 0
    assert page.get_by_text("Table 3, rows (A)").is_visible()


def test_rings_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="nothing to draw"):
        HeadBudget(rings=())
    with pytest.raises(TraitError, match="shown=2, but there are 2 sets"):
        HeadBudget(rings=(PUBLISHED, OURS), shown=2)
    budget = HeadBudget(rings=(PUBLISHED, OURS), shown=1)
    with pytest.raises(TraitError, match="shown=3"):
        budget.shown = 3
    assert budget.shown == 1


def test_turning_a_dial_is_quick(open_figure, report):
    page = open_figure(HeadBudget(d_model=16_384, n_heads=512))
    dial = "input[type=range] >> nth=3"
    page.locator(dial).evaluate("input => input.id = 'measured'")
    took = milliseconds(page, "#measured", "keydown", ("ArrowRight", "ArrowLeft"))
    report(f"head budget, 512 heads: {took:.1f} ms a step of a dial")
    assert took < allowed(page, 50)
