"""W_O as a sum: the parts are PyTorch's, the sum is the product, and every control works."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from traitlets import TraitError

from mhsa_lib import edit, examples, trace
from mhsa_lib.plots.contribution import _parts
from mhsa_lib.widgets import OutputSum
from tests.widgets.conftest import milliseconds, node

# --- the mathematics, in node ----------------------------------------------------------------


def test_the_page_computes_what_pytorch_computes():
    cases, calls = [], []

    @settings(max_examples=12)
    @given(*[st.integers(1, 5)] * 4, st.booleans(), st.data())
    def collect(n_heads, n_query, d_head, d_model, bias, data):
        z = torch.randn(n_heads, n_query, d_head)
        W_O = nn.Linear(n_heads * d_head, d_model, bias=bias)
        off = data.draw(st.lists(st.integers(0, n_heads - 1), unique=True))
        figure = OutputSum(z, W_O, off=off)
        cases.append((z, W_O, off))
        calls.append(("written", figure.z, figure.W_O))
        calls.append(("product", figure.z, figure.W_O, figure.bias, off))

    collect()
    found = iter(node("output_sum/sums", *calls))
    for z, W_O, off in cases:
        written, product = (torch.tensor(next(found)).float() for _ in range(2))
        per_head = torch.stack(
            [
                list(_parts(row, W_O).values())[h]
                for row in z.transpose(0, 1).double()
                for h in range(len(z))
            ]
        )
        expected = per_head.unflatten(0, (z.shape[1], z.shape[0])).transpose(0, 1).float()
        torch.testing.assert_close(written, expected, atol=1e-5, rtol=1e-5)
        z = z.index_fill(0, torch.tensor(off, dtype=torch.long), 0.0)
        y = W_O(z.transpose(0, 1).flatten(1)).detach()
        torch.testing.assert_close(product, y, atol=1e-5, rtol=1e-5)


def test_the_sum_over_heads_is_the_product():
    figure = OutputSum(torch.randn(3, 4, 2), nn.Linear(6, 5))
    (written,) = node("output_sum/sums", ("written", figure.z, figure.W_O))
    parts = [*written, [figure.bias] * 4]
    for off in ([], [1], [0, 2], [0, 1, 2]):
        (summed,) = node("output_sum/sums", ("summed", parts, off))
        (product,) = node(
            "output_sum/sums", ("product", figure.z, figure.W_O, figure.bias, off)
        )
        torch.testing.assert_close(torch.tensor(summed), torch.tensor(product))
    (difference,) = node("output_sum/sums", ("apart", [[1.0, 2.0]], [[1.5, 2.25]]))
    assert difference == 0.5


def test_positive_parts_go_up_and_negative_ones_down():
    values = [2.0, -1.0, 3.0, -0.5]
    (bars,) = node("output_sum/sums", ("stacked", values))
    assert [(bar["from"], bar["to"]) for bar in bars] == [(0, 2), (0, -1), (2, 5), (-1, -1.5)]
    (reach,) = node("output_sum/sums", ("reach", [[[value]] for value in values]))
    assert reach == [-1.5, 5]


def test_ticks_are_round_and_lie_inside():
    (found, tiny) = node("output_sum/sums", ("ticks", -4.7, 4.4), ("ticks", 0, 0.003))
    assert found == [-4, -2, 0, 2, 4]
    torch.testing.assert_close(torch.tensor(tiny), torch.tensor([0.0, 0.001, 0.002, 0.003]))


# --- the class -------------------------------------------------------------------------------


def test_without_arguments_it_is_the_running_example():
    attention = examples.attention()
    with trace(attention) as wires:
        attention(examples.sentence())
    figure = OutputSum()
    torch.testing.assert_close(torch.tensor(figure.z), wires["z"])
    torch.testing.assert_close(torch.tensor(figure.W_O), attention.W_O.weight.T)
    assert figure.bias is None
    assert tuple(figure.tokens) == examples.SENTENCE


def test_a_leading_axis_of_one_and_plain_names_for_tokens():
    figure = OutputSum(torch.ones(1, 3, 6, 4), nn.Linear(12, 5))
    assert len(figure.z) == 3
    assert figure.tokens == ["0", "1", "2", "3", "4", "5"]
    assert len(figure.bias) == 5


@pytest.mark.parametrize(
    ("words", "make"),
    [
        ("W_O takes 10", lambda: OutputSum(torch.ones(3, 6, 4), nn.Linear(10, 12))),
        ("choose a sequence", lambda: OutputSum(torch.ones(2, 3, 6, 4), nn.Linear(12, 12))),
        ("come together", lambda: OutputSum(torch.ones(3, 6, 4))),
        (
            "6 queries but there are 2",
            lambda: OutputSum(torch.ones(3, 6, 4), nn.Linear(12, 2), "ab"),
        ),
        ("13 heads are more", lambda: OutputSum(torch.ones(13, 6, 2), nn.Linear(26, 2))),
        ("33 queries", lambda: OutputSum(torch.ones(1, 33, 2), nn.Linear(2, 2))),
        ("72 columns of concat", lambda: OutputSum(torch.ones(12, 6, 6), nn.Linear(72, 2))),
        ("49 coordinates of y", lambda: OutputSum(torch.ones(1, 6, 2), nn.Linear(2, 49))),
        ("z has NaN", lambda: OutputSum(torch.full((1, 6, 2), torch.nan), nn.Linear(2, 2))),
    ],
)
def test_what_does_not_fit_is_refused(words, make):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize(
    ("name", "value"),
    [("position", 6), ("coordinate", -1), ("coordinate", 12), ("off", [0, 3])],
)
def test_what_does_not_exist_is_refused(name, value):
    figure = OutputSum()
    with pytest.raises(TraitError, match=f"{name}={re.escape(str(value))} is not from 0"):
        setattr(figure, name, value)
    with pytest.raises(TraitError):
        OutputSum(**{name: value})


def test_the_still_picture_draws_the_heads_that_are_on(drawn_contributions):
    OutputSum(position=2, off=[1]).still()
    z, W_O, position, coordinates = drawn_contributions
    assert (z[1] == 0).all()
    assert (z[0] != 0).any()
    assert (position, list(coordinates)) == (2, list(range(12)))
    torch.testing.assert_close(W_O.weight, examples.attention().W_O.weight)


@pytest.fixture
def drawn_contributions(monkeypatch):
    calls = []
    monkeypatch.setattr("mhsa_lib.plots.contributions", lambda *args: calls.extend(args))
    return calls


def test_html_carries_tokens_as_data():
    html = OutputSum(torch.ones(1, 1, 2), nn.Linear(2, 2), ["</script><b>"]).html()
    assert "</script><b>" not in html
    assert "<img alt=" in html


# --- in the browser --------------------------------------------------------------------------


def number(text):
    return float(text.replace("−", "-"))


def shown_y(page):
    """y of every coordinate, as the bars are labelled."""
    labels = [bar.get_attribute("aria-label") for bar in page.get_by_role("radio").all()]
    return torch.tensor([number(label.split(" is ")[1]) for label in labels])


def test_the_bars_are_y_and_a_head_that_is_off_is_missing(open_figure):
    attention = examples.attention()
    page = open_figure(OutputSum())
    page.get_by_label("token").select_option(index=4)
    y = attention(examples.sentence())
    torch.testing.assert_close(shown_y(page), y[4].detach(), atol=6e-4, rtol=0)
    page.get_by_label("head 1").uncheck()
    page.get_by_label("head 2").press("Space")
    with edit(attention, "z", lambda z: z.index_fill(0, torch.tensor([1, 2]), 0.0)):
        without = attention(examples.sentence())
    torch.testing.assert_close(shown_y(page), without[4].detach(), atol=6e-4, rtol=0)
    page.get_by_label("head 1").check()
    page.get_by_label("head 2").check()
    torch.testing.assert_close(shown_y(page), y[4].detach(), atol=6e-4, rtol=0)


def test_the_arithmetic_of_the_selected_coordinate_is_written_out(open_figure):
    page = open_figure(OutputSum(position=1))
    page.get_by_role("radio", name="coordinate 2:").hover()
    attention = examples.attention()
    with trace(attention) as wires:
        y = attention(examples.sentence())
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


def test_arrow_keys_walk_over_the_coordinates(open_figure):
    page = open_figure(OutputSum(coordinate=3))
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
    page = open_figure(OutputSum())
    blocks = page.evaluate(
        """[...document.querySelectorAll('.mhsa-block')].map((block) =>
             [...block.querySelectorAll(':scope > rect')].map((square) => {
               const minus = square.classList.contains('mhsa-minus');
               const side = Number(square.getAttribute('width')) + (minus ? 1.5 : 0);
               return (minus ? -1 : 1) * (side / 12) ** 2;
             }))"""
    )
    W_O = examples.attention().W_O.weight.detach().T
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
    page = open_figure(OutputSum(), width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = OutputSum(torch.randn(12, 32, 5), nn.Linear(60, 48))
    page = open_figure(wide, width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_no_interaction_is_slow(open_figure, report):
    large = OutputSum(torch.randn(12, 32, 5), nn.Linear(60, 48))
    for name, figure in [("running example", OutputSum()), ("largest", large)]:
        page = open_figure(figure)
        page.get_by_role("radio").first.focus()
        select = milliseconds(page, ".mhsa-coordinate", "keydown", ("End", "Home"))
        assert page.get_by_role("radio").last.get_attribute("aria-checked") == "true"
        switch = milliseconds(page, "[type=checkbox]", "click")
        report(f"output sum, {name}: {select:.1f} ms a coordinate, {switch:.1f} ms a head")
        assert max(select, switch) < 50


def test_a_figure_stays_within_its_budget(report):
    large = OutputSum(torch.randn(12, 32, 5), nn.Linear(60, 48))
    data = re.search(r'<script type="application/json">(.*?)</script>', large.html(), re.S)[1]
    report(f"output sum: {len(data.encode()) / 1000:.0f} kB of data at its largest")
    assert len(data.encode()) <= 200_000
