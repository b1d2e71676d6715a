"""The pipeline shows every wire at its size, by axis, and what it was made of."""

import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from mhsa_book import plots
from mhsa_book.plots import trace_boxes
from mhsa_book.provenance import provenance_of
from mhsa_lib import trace
from mhsa_lib.shapes import AXIS_COLOURS
from tests.helpers.drawn import mha, rand
from tests.mhsa_book.plots.figure import drawn, said
from tests.mhsa_book.plots.inputs import traced
from tests.mhsa_lib.variants.registry import STAGED


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
    by_shape = dict(zip(["x", *wires.steps], boxes, strict=True))
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
        for w, b in zip(["x", *wires], fronts(ax), strict=True)
        if to_hex(b.get_fc()) == trace_boxes.GROWS
    ]
    assert filled == ["scores", "weights"]


def test_an_axis_keeps_its_colour_and_its_name():
    _, wires = traced(batch=(2,))
    plots.pipeline(wires)
    ax = drawn().axes[0]
    marks = {
        (round(x, 2), round(y, 1)): to_hex(line.get_color())
        for line in ax.lines
        if line.get_marker() == "s"
        for (x, y) in line.get_xydata()
    }
    named = {}
    for text in ax.texts:
        axis = text.get_text().partition(" ")[0]
        if axis in AXIS_COLOURS:
            x, y = text.get_position()
            at = min(marks, key=lambda mark: abs(mark[0] - x) + abs(mark[1] - y))
            named.setdefault(axis, set()).add(marks[at])
    assert named == {axis: {AXIS_COLOURS[axis]} for axis in wires.sizes}


def test_heads_are_sheets():
    _, three = traced(n_heads=3)
    plots.pipeline(three)
    assert len(fronts(drawn().axes[0])) == 6 + 6 * 3


# --- what is made of what -------------------------------------------------------------------


def near(point, box):
    """How far a point is from a box, in inches."""
    x, y = point
    left, top, right, bottom = box
    return max(left - x, x - right, 0) + max(top - y, y - bottom, 0)


def joined(ax, boxes):
    """The pairs of names that arrows join, read off where they begin and end."""
    found = set()
    for patch in ax.patches:
        if isinstance(patch, FancyArrowPatch):
            drawn_path = patch.get_path().vertices  # with its head, whose tip is furthest right
            ends = drawn_path[0], max(drawn_path, key=lambda at: at[0])
            pair = [min(boxes, key=lambda name: near(end, boxes[name])) for end in ends]
            for end, name in zip(ends, pair, strict=True):
                assert near(end, boxes[name]) < 0.05
            found.add(tuple(pair))
    return found


def sides(patch):
    (left, top), (right, bottom) = patch.get_bbox().get_points()
    return left, top, right, bottom


def whole(ax):
    """All sheets of each wire in the whole picture, as one box by its name."""
    names = [text for text in ax.texts if text.get_weight() == "bold"]
    boxes = {}
    for sheet in fronts(ax):
        x, y = sheet.get_xy()
        title = min(
            (t for t in names if t.get_position()[1] < y + sheet.get_height()),
            key=lambda t: abs(t.get_position()[0] - x) + abs(t.get_position()[1] - y),
        ).get_text()
        left, top, right, bottom = boxes.get(title, sides(sheet))
        new = sides(sheet)
        boxes[title] = (
            min(left, new[0]),
            min(top, new[1]),
            max(right, new[2]),
            max(bottom, new[3]),
        )
    return boxes


def strip(ax):
    """The frame of each wire in the strip, by its name."""
    frames = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    boxes = {}
    for text in ax.texts:
        for frame in frames:
            if near(text.get_position(), sides(frame)) == 0:
                boxes[text.get_text()] = sides(frame)
    return boxes


def true_flow(attention, x):
    """What each number depends on, by gradients: the wires and x, and no weights."""
    provenance = provenance_of(attention, x)
    return {
        (place[0], wire)
        for wire, numbers in provenance.parents.items()
        for places in numbers
        for place in places
        if place[0] in {"x", *provenance.wires}
    }


CHOICES = "MixtureOfHeadAttention by query norm"
"""Its choice of heads has no gradient, so there is more flow than gradients tell."""
ONE_MEMORY = "AbsorbedLatentAttention"
"""Its values are a part of its keys, and a trace knows memories."""


@pytest.mark.parametrize(
    "variant",
    [
        pytest.param(each, marks=[pytest.mark.slow] * (i % 3 > 0))
        for i, each in enumerate(STAGED)
    ],
    ids=[variant.name for variant in STAGED],
)
def test_arrows_are_the_flow_of_numbers(variant):
    if variant.name == ONE_MEMORY:
        return
    attention, x = variant.build().eval(), rand(2, 12).float()
    with torch.no_grad(), trace(attention) as wires:
        attention(x)
    plots.pipeline(wires)
    ax = drawn().axes[0]
    found, expected = joined(ax, whole(ax)), true_flow(attention, x)
    if variant.name == CHOICES:
        assert expected < found
    else:
        assert found == expected


def test_arrows_of_the_strip_are_those_of_the_whole():
    attention, wires = traced()
    plots.pipeline(wires, here=["scores"])
    ax = drawn().axes[0]
    assert joined(ax, strip(ax)) == true_flow(attention, rand(2, 12).float())


def test_a_context_of_its_own_is_where_keys_and_values_come_from():
    attention = mha(12, 3)
    with trace(attention) as wires:
        attention(rand(2, 12), rand(3, 12))
    plots.pipeline(wires)
    ax = drawn().axes[0]
    boxes = whole(ax)
    starts = {pair for pair in joined(ax, boxes) if pair[0] in ("x", "context")}
    assert starts == {("x", "q"), ("context", "k"), ("context", "v")}


def test_no_arrow_crosses_a_box():
    _, wires = traced(batch=(2,))
    plots.pipeline(wires)
    ax = drawn().axes[0]
    boxes = whole(ax)
    for patch in ax.patches:
        if isinstance(patch, FancyArrowPatch):
            path = patch.get_path().interpolated(200).vertices
            crossed = {
                name for name in boxes for at in path[5:-5] if near(at, boxes[name]) == 0
            }
            assert crossed == set()


def test_where_a_chapter_is_can_be_told_without_colour():
    _, wires = traced()
    plots.pipeline(wires, here=["scores", "weights"])
    ax = drawn().axes[0]
    frames = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    widest = max(frame.get_linewidth() for frame in frames)
    thick = {
        name
        for name, box in strip(ax).items()
        for frame in frames
        if sides(frame) == box and frame.get_linewidth() == widest
    }
    bold = {text.get_text() for text in ax.texts if text.get_weight() == "bold"}
    assert thick == bold == {"scores", "weights"}
    assert drawn().get_figheight() < 2
