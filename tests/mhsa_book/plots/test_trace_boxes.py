"""The pipeline shows every wire at its size, by axis, and what is a copy."""

import itertools

import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from mhsa_book import plots
from mhsa_book.plots import trace_boxes
from mhsa_lib.shapes import AXIS_COLOURS
from tests.mhsa_book.plots.figure import drawn, said
from tests.mhsa_book.plots.inputs import traced


def fronts(ax):
    """Return the front sheet of every box, in order."""
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def test_every_wire_is_named_with_its_sizes():
    _, wires = traced(batch=(2,))
    plots.pipeline(wires)
    said_ = said(drawn())
    assert set(wires) <= said_
    assert {"batch 2", "head 3", "query 6", "key 6", "d_head 4", "d_model 12"} <= said_


def test_where_a_chapter_is_stands_once_whatever_is_marked():
    _, wires = traced()
    plots.pipeline(wires, here=["q", "k", "v"])
    texts = [text.get_text() for text in drawn().axes[0].texts]
    assert texts.count("you are here") == 1


def test_sides_grow_with_the_square_root_of_the_size():
    _, wires = traced(n_query=16, d_model=64, n_heads=1)
    plots.pipeline(wires)
    boxes = fronts(drawn().axes[0])
    by_shape = dict(zip(wires.steps, boxes, strict=True))
    q, scores = by_shape["q"], by_shape["scores"]
    assert q.get_width() == pytest.approx(trace_boxes.LARGEST)
    assert q.get_width() / q.get_height() == pytest.approx(2)
    assert scores.get_width() == pytest.approx(scores.get_height())
    assert scores.get_height() == pytest.approx(q.get_height())


def test_views_are_dashed_copies_solid_and_query_by_key_filled():
    _, wires = traced(n_heads=1)
    plots.pipeline(wires)
    ax = drawn().axes[0]
    edges = [line for line in ax.lines if line.get_linewidth() == 2.6]
    drawn_as = {
        wire: edges[4 * i].get_linestyle() == "--" for i, wire in enumerate(wires.steps)
    }
    assert drawn_as == {wire: step.result == "view" for wire, step in wires.steps.items()}
    filled = [
        w
        for w, b in zip(wires, fronts(ax), strict=True)
        if to_hex(b.get_fc()) == trace_boxes.GROWS
    ]
    assert filled == ["scores", "weights"]


def test_an_axis_keeps_its_colour_and_its_name():
    _, wires = traced(batch=(2,))
    plots.pipeline(wires)
    (legend,) = drawn().legends
    shown = {
        text.get_text().split()[0]: to_hex(handle.get_facecolor())
        for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True)
        if text.get_text().split()[0] in AXIS_COLOURS and "×" not in text.get_text()
    }
    expected = {axis: AXIS_COLOURS[axis] for axis in wires.sizes}
    assert shown == expected


def test_heads_are_sheets():
    _, three = traced(n_heads=3)
    plots.pipeline(three)
    assert len(fronts(drawn().axes[0])) == 5 + 6 * 3


def test_arrows_lead_from_what_a_wire_is_made_of():
    _, wires = traced()
    columns = trace_boxes._columns([*wires.steps.values()])
    made_of = {
        step.name: [source.name for source in trace_boxes._sources(step, before)]
        for before, column in itertools.pairwise(columns)
        for step in column
    }
    assert made_of == {
        "q_heads": ["q"],
        "k_heads": ["k"],
        "v_heads": ["v"],
        "scores": ["q_heads", "k_heads"],
        "weights": ["scores"],
        "z": ["weights"],
        "concat": ["z"],
        "y": ["concat"],
    }


def test_values_reach_z_past_the_weights():
    _, wires = traced()
    plots.pipeline(wires)
    ax = drawn().axes[0]
    (level,) = [line for line in ax.lines if line.get_linewidth() == 1]
    names = {text.get_text(): text.get_position() for text in ax.texts}
    assert names["v_heads"][0] < level.get_xdata()[0] < names["scores"][0]
    assert names["z"][0] < level.get_xdata()[1] < names["concat"][0]
