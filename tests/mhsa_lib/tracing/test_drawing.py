"""A trace as HTML: what a reader without colour, or without eyes, gets."""

import copy
from html.parser import HTMLParser

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mhsa_lib import masks, trace
from mhsa_lib.shapes import AXIS_COLOURS
from mhsa_lib.tracing import drawing
from mhsa_lib.tracing.drawing import Step
from tests.helpers.drawn import mha, rand

VOID = {"br", "hr", "img", "input", "meta"}


class Page(HTMLParser):
    """Tags must close in order; text and attributes are collected."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open, self.seen, self.words = [], [], []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data.replace("\xa0", " "))

    def all(self, tag):
        return [attributes for name, attributes in self.seen if name == tag]


@pytest.fixture
def wires():
    attention = mha()
    with trace(attention) as wires:
        attention(rand(2, 5, 12), mask=masks.causal)
    return wires


def test_a_trace_draws_itself(wires):
    table = drawing.table("MultiHeadAttention", list(wires.steps.values()))
    assert wires._repr_html_() == table + drawing.maps(wires["weights"])


def test_there_is_one_row_per_wire_with_headings_in_both_directions(wires):
    page = Page(wires._repr_html_())
    assert len(page.all("tr")) == 1 + len(wires)
    assert [th["scope"] for th in page.all("th")] == ["col"] * 6 + ["row"] * len(wires)
    assert page.words[0].startswith("Wires of MultiHeadAttention, in order of computation")


def test_every_axis_is_written_with_its_size_on_its_own_colour(wires):
    html = wires._repr_html_()
    for step in wires.steps.values():
        for axis, size in step.axes.items():
            before, _, _ = html.partition(f"{axis}&nbsp;{size}<")
            assert f"background:{AXIS_COLOURS[axis]}" in before[before.rindex("<span") :]


def test_bytes_flops_strides_and_view_or_copy_are_in_the_text(wires):
    words = Page(wires._repr_html_()).words
    row = words[words.index("scores") : words.index("weights")]
    axes = ["batch 2", "head 3", "query 5", "key 5"]
    assert row == ["scores", *axes, "new memory", "1200", "1200", "(75, 25, 5, 1)"]


@given(st.integers(0, 10**19))
def test_a_short_number_is_right_to_three_digits_and_never_longer_than_four(number):
    digits, _, unit = drawing.short(number).partition(" ")
    assert len(digits.replace(".", "")) <= 4
    value = float(digits) * 1000 ** " kMGTPE".index(unit or " ")
    assert value == pytest.approx(number, rel=0.005)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (9_999, "9999"),
        (10_000, "10 k"),
        (999_499, "999 k"),
        (999_600, "1 M"),
        (2**30, "1.07 G"),
    ],
)
def test_units_change_where_four_digits_end(number, text):
    assert drawing.short(number) == text


def test_names_cannot_break_out_of_the_table():
    step = Step("<b>&", (2,), (1,), "new memory", 8, 0, {"<i>": 2})
    html = drawing.table("</caption><script>", [step])
    page = Page(html)
    assert "<b>&" in page.words
    assert {"script", "b", "i"}.isdisjoint(tag for tag, _ in page.seen)


def test_an_empty_trace_is_an_empty_table():
    assert len(Page(drawing.table("nothing", [])).all("tr")) == 1


def test_an_empty_sequence_draws_rows_without_bytes():
    attention = mha()
    with trace(attention) as wires:
        attention(rand(2, 0, 12))
    assert len(Page(wires._repr_html_()).all("tr")) == 1 + len(wires)


def test_text_on_every_colour_can_be_read():
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for axis, colour in AXIS_COLOURS.items():
        chip = drawing._chip(axis, 3)
        assert f"background:{colour}" in chip
        ink = 0.0 if ";color:#000" in chip else 1.0
        assert ink == 0.0 or ";color:#fff" in chip
        light, dark = sorted((luminance(colour), ink), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, colour


# --- maps of weights -------------------------------------------------------------------------


def cells(html):
    """Weights that are drawn, by (head, query, key), in hundredths; absent ones are clear."""
    found = {}
    for head, figure in enumerate(html.split("<figure")[1:]):
        for cell in Page("<figure" + figure.partition("</figure>")[0] + "</figure>").all(
            "rect"
        ):
            found[head, int(cell["y"]), int(cell["x"])] = round(
                100 * float(cell["fill-opacity"])
            )
    return found


def test_every_head_has_a_map_with_a_label_and_its_weights(wires):
    html = wires._repr_html_()
    page = Page(html)
    labels = [svg["aria-label"] for svg in page.all("svg")]
    assert labels == [
        f"Head {i} of 3, numbered from 0: weights of 5 queries, one a row, on 5 keys"
        for i in range(3)
    ]
    assert {svg["role"] for svg in page.all("svg")} == {"img"}
    assert all(svg["fill"] == "currentColor" for svg in page.all("svg"))
    drawn = cells(html)
    for (head, query, key), weight in drawn.items():
        assert weight == pytest.approx(
            100 * wires["weights"][0, head, query, key].item(), abs=1
        )
    assert len(drawn) == (wires["weights"][0] > 0.004).sum()  # less is clear
    assert "the first 1 of 2 sequences" in html


def test_the_scale_is_fixed_and_nan_is_clear():
    weights = torch.tensor([[[0.5, 0.5, 0.0], [1.0, float("nan"), -0.5], [1 / 16, 2.0, 1e-5]]])
    assert cells(drawing.maps(weights)) == {
        (0, 0, 0): 50,
        (0, 0, 1): 50,
        (0, 1, 0): 100,
        (0, 2, 0): 6,
        (0, 2, 1): 100,
    }
    below = weights - 1e-7
    assert drawing.maps(below) == drawing.maps(weights)


def test_large_maps_are_cut_and_say_so():
    html = drawing.maps(torch.full((3, 12, 40, 50), 0.02))
    assert html.count("<svg") == drawing.MOST_HEADS
    assert html.count("<rect") == drawing.MOST_HEADS * drawing.MOST_TOKENS**2
    assert (
        "Shown: the first 1 of 3 sequences, the first 8 of 12 heads, the first 16 of 40" in html
    )
    assert "the first 16 of 50 keys." in html
    assert len(html) < 200_000


@pytest.mark.parametrize("shape", [(0, 3, 5, 5), (3, 0, 5), (3, 5, 0)])
def test_without_weights_there_is_no_map(shape):
    assert drawing.maps(torch.zeros(shape)) == ""
    assert drawing.maps(torch.zeros(3, 5, 5, device="meta")) == ""


def test_half_precision_is_drawn_and_a_trace_without_weights_is_a_table(wires):
    assert cells(drawing.maps(torch.eye(2).bfloat16()[None])) == {
        (0, 0, 0): 100,
        (0, 1, 1): 100,
    }
    del wires["weights"]
    assert "<svg" not in wires._repr_html_()


def test_a_wire_that_is_removed_takes_its_step_with_it(wires):
    again = copy.copy(wires)
    del wires["z"]
    assert "z" not in wires.steps
    wires.clear()
    assert (wires.steps, len(wires)) == ({}, 0)
    assert wires._repr_html_().count("<tr>") == 1
    assert list(again.steps) == list(again) == [*again]
    assert len(again) == 11
    assert list(again | {"more": 1})[-1] == "more"
