"""A reader takes W_O apart: every head, coordinate and term on the page."""

import re
from itertools import pairwise

import pytest
import torch
from torch import nn

from mhsa_book import examples
from mhsa_book.widgets import OutputSum
from mhsa_lib import edit, trace
from tests.mhsa_book.widgets.conftest import allowed, milliseconds
from tests.mhsa_book.widgets.six_words import output_sum


def number(text):
    return float(text.replace("−", "-"))


def shown_y(page):
    """y of every coordinate, as the bars are labelled."""
    labels = [bar.get_attribute("aria-label") for bar in page.get_by_role("radio").all()]
    return torch.tensor([number(label.split(" is ")[1]) for label in labels])


def test_the_bars_are_y_and_a_head_that_is_off_is_missing(open_figure):
    attention = examples.random_attention()
    page = open_figure(output_sum())
    page.get_by_label("token").select_option(index=4)
    y = attention(examples.random_tokens())
    torch.testing.assert_close(shown_y(page), y[4].detach(), atol=6e-4, rtol=0)
    page.get_by_label("head 1").uncheck()
    page.get_by_label("head 2").press("Space")
    with edit(attention, "z", lambda z: z.index_fill(0, torch.tensor([1, 2]), 0.0)):
        without = attention(examples.random_tokens())
    torch.testing.assert_close(shown_y(page), without[4].detach(), atol=6e-4, rtol=0)
    page.get_by_label("head 1").check()
    page.get_by_label("head 2").check()
    torch.testing.assert_close(shown_y(page), y[4].detach(), atol=6e-4, rtol=0)


def test_the_arithmetic_of_the_selected_coordinate_is_written_out(open_figure):
    page = open_figure(output_sum(position=1))
    page.get_by_role("radio", name="coordinate 2:").hover()
    attention = examples.random_attention()
    with trace(attention) as wires:
        y = attention(examples.random_tokens())
    terms = page.locator(".mhsa-sums p")
    for head in range(3):
        text = terms.nth(head).inner_text().replace("−", "-").replace("(", "").replace(")", "")
        assert f"z[{head}, 1] · W_O[{4 * head}:{4 * head + 4}, 2]" in text
        products, result = text.splitlines()[-1].split(" = ")
        factors = torch.tensor(
            [[float(x) for x in p.split("·")] for p in products.split(" + ")]
        )
        block = attention.W_O.weight.T[4 * head : 4 * head + 4, 2]
        expected = torch.stack([wires["z"][head, 1], block], dim=1).detach()
        torch.testing.assert_close(factors, expected, atol=6e-4, rtol=0)
        torch.testing.assert_close(
            torch.tensor(float(result)), expected.prod(dim=1).sum(), atol=6e-4, rtol=0
        )
    total = page.locator(".mhsa-total").inner_text()
    assert total.startswith("y[1, 2] = ")
    assert abs(number(total.split(" = ")[-1]) - y[1, 2].item()) < 6e-4
    last = terms.last.inner_text()
    assert number(re.search(r"gives (\S+)\. ", last)[1]) == number(total.split(" = ")[-1])
    assert number(re.search(r"numbers: (\S+)\.$", last)[1]) < 1e-12


def test_the_running_example_calls_its_columns_by_name(open_figure):
    page = open_figure(OutputSum(position=6), width=339)
    assert page.locator(".mhsa-coordinate > text:last-child").all_text_contents() == list(
        examples.COLUMNS
    )
    page.get_by_role("radio", name="coordinate living: y is 0.99").hover()
    sums = page.locator(".mhsa-sums").inner_text()
    assert "z[0, 6] · W_O[0:4, living]" in sums
    assert "y[6, living] = " in sums
    page.wait_for_function(
        "document.querySelector('[role=status]').textContent"
        ".startsWith('Coordinate living of y for “\u2068tired\u2069” is ')"
    )


@pytest.mark.parametrize("columns", [examples.COLUMNS, ["x" * 99, "אבגדהו", "<b>", ""] * 3])
def test_names_stand_between_the_bars_and_w_o(open_figure, columns):
    page = open_figure(OutputSum(columns=columns), width=339)
    assert page.evaluate("document.documentElement.scrollWidth") <= 339
    names = page.locator(".mhsa-coordinate > text:last-child").all()
    boxes = [name.bounding_box() for name in names]
    W_O = page.locator(".mhsa-block").first.bounding_box()
    for left, right in pairwise(boxes):
        assert left["x"] + left["width"] <= right["x"] + 1
    assert max(box["y"] + box["height"] for box in boxes) <= W_O["y"] + 1


def test_arrow_keys_walk_over_the_coordinates(open_figure):
    page = open_figure(output_sum(coordinate=3))
    page.get_by_label("head 2").focus()
    page.keyboard.press("Tab")
    radios = page.get_by_role("radio")
    assert (
        page.get_by_role("radio", checked=True)
        .get_attribute("aria-label")
        .startswith("coordinate 3:")
    )
    for key, expected in [("ArrowRight", 4), ("End", 11), ("ArrowRight", 11), ("Home", 0)]:
        page.keyboard.press(key)
        assert radios.nth(expected).get_attribute("aria-checked") == "true"
        assert page.get_by_role("radio", checked=True).count() == 1
    page.wait_for_function(
        "document.querySelector('[role=status]').textContent.startsWith('Coordinate 0 of y')"
    )


def test_a_bias_is_one_more_part(open_figure):
    W_O = nn.Linear(4, 3)
    page = open_figure(OutputSum(torch.randn(2, 1, 2), W_O, off=[0, 1]))
    torch.testing.assert_close(shown_y(page), W_O.bias.detach(), atol=6e-4, rtol=0)
    assert "b_O[0]" in page.locator(".mhsa-sums").inner_text()
    assert page.get_by_text("concat @ W_O + b_O").count() == 1
    assert not page.get_by_label("head 0").is_checked()


def test_the_blocks_of_w_o_show_every_number(open_figure):
    page = open_figure(output_sum())
    blocks = page.evaluate(
        """[...document.querySelectorAll('.mhsa-block')].map((block) =>
             [...block.querySelectorAll(':scope > rect')].map((square) => {
               const minus = square.classList.contains('mhsa-minus');
               const side = Number(square.getAttribute('width')) + (minus ? 1.5 : 0);
               return (minus ? -1 : 1) * (side / 12) ** 2;
             }))"""
    )
    W_O = examples.random_attention().W_O.weight.detach().T
    big = W_O.abs() > 0.05  # a hollow square is at least as wide as its edge
    scaled = W_O / W_O.abs().max()
    torch.testing.assert_close(
        torch.tensor(blocks).view(12, 12)[big], scaled[big], atol=1e-4, rtol=1e-4
    )


def test_text_is_text(open_figure):
    tokens = [
        "<img src=x onerror=alert(1)>",
        "",
        "\u202eאבג",
        "👩‍👩‍👧",
        "x" * 1000,
        "é\u0301\n",
    ]
    page = open_figure(OutputSum(torch.randn(3, 6, 4), nn.Linear(12, 12), tokens), width=390)
    for q in range(6):
        page.get_by_label("token").select_option(index=q)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator(".mhsa-body img").count() == 0


def test_nothing_but_zeros_is_drawn_too(open_figure):
    W_O = nn.Linear(4, 3, bias=False)
    page = open_figure(OutputSum(torch.zeros(2, 1, 2), W_O))
    assert shown_y(page).tolist() == [0, 0, 0]
    assert "NaN" not in page.locator(".mhsa-body").inner_html()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits(open_figure, width, theme):
    page = open_figure(output_sum(), width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = OutputSum(torch.randn(12, 32, 5), nn.Linear(60, 48))
    page = open_figure(wide, width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_no_interaction_is_slow(open_figure, report):
    large = OutputSum(torch.randn(12, 32, 5), nn.Linear(60, 48))
    for name, figure in [("running example", output_sum()), ("largest", large)]:
        page = open_figure(figure)
        page.get_by_role("radio").first.focus()
        select = milliseconds(page, ".mhsa-coordinate", "keydown", ("End", "Home"))
        assert page.get_by_role("radio").last.get_attribute("aria-checked") == "true"
        switch = milliseconds(page, "[type=checkbox]", "click")
        report(f"output sum, {name}: {select:.1f} ms a coordinate, {switch:.1f} ms a head")
        assert max(select, switch) < allowed(page, 50)
