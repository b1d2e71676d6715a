"""Curves and bars carry their names and numbers."""

from itertools import pairwise

from matplotlib.text import Text

from mhsa_book import plots
from tests.mhsa_book.plots.figure import drawn, said


def test_curves_are_named_at_their_ends_in_order_and_apart():
    ys = {"low": [1, 1.0], "high": [9, 9.0], "lower": [1, 0.99], "same": [1, 1.0]}
    plots.curves([0, 1], ys, "x", "y")
    (ax,) = drawn().axes
    boxes = {text.get_text(): Text.get_window_extent(text) for text in ax.texts}
    heights = sorted((box.y0, box.y1) for box in boxes.values())
    assert all(below[1] <= above[0] + 1 for below, above in pairwise(heights))
    order = sorted(boxes, key=lambda name: boxes[name].y0)
    assert order[0] == "lower"
    assert order[-1] == "high"
    assert len({line.get_marker() for line in ax.lines}) == 4


def test_log_axes_keep_the_sizes_as_ticks():
    plots.curves([64, 1024], {"a": [1, 100]}, "n", "s", log="xy")
    (ax,) = drawn().axes
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [t.get_text() for t in ax.get_xticklabels()] == ["64", "1,024"]


def test_bars_carry_their_values():
    plots.bars({"W_Q": 1048576, "loss": 0.12345}, "value")
    assert {"W_Q", "1,048,576", "0.123"} <= {word.strip() for word in said(drawn())}
