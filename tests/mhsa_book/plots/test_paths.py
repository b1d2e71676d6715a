"""The patched path of a diagram leaves the other text and ends where it is read."""

from itertools import pairwise

import pytest
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation

from mhsa_book import plots
from tests.mhsa_book.plots.figure import drawn, said

HEADS = ["L0H0", "L0H1", "L0H2", "L0H3"]
WIRES = {"q": "queries", "k": "keys", "v": "values"}


def boxes(ax):
    """Every box by its text, in the order in which they were drawn."""
    found = {}
    texts = [text for text in ax.texts if text.get_text()]
    for box in ax.findobj(Rectangle):
        inside = [t.get_text() for t in texts if box.get_bbox().contains(*t.get_position())]
        if box is not ax.patch and inside:
            found.setdefault(inside[0], []).append(box)
    return found


def arrows(ax, dashed):
    found = [a for a in ax.texts if isinstance(a, Annotation) and a.arrowprops]
    return [a for a in found if (a.arrowprops["linestyle"] == "--") is dashed]


@pytest.mark.parametrize("wire", WIRES)
def test_the_patched_path_leads_from_the_other_texts_head_to_one_wire_alone(wire):
    plots.path_patch(HEADS, "L0H2", wire)
    (ax,) = drawn().axes
    there = boxes(ax)
    assert [len(there[name]) for name in HEADS] == [1, 1, 2, 1]
    (patched,) = [box for box in there["L0H2"] if box.get_linestyle() == "--"]
    (other,) = there["other text"]
    into_head, into_wire = arrows(ax, dashed=True)
    assert other.get_bbox().padded(1e-6).contains(*into_head.xyann)
    assert patched.get_bbox().padded(1e-6).contains(*into_head.xy)
    ((x, y),) = [line.get_xydata()[0] for line in ax.lines]
    assert patched.get_bbox().padded(1e-6).contains(x, y)
    assert tuple(ax.lines[0].get_xydata()[-1]) == pytest.approx(into_wire.xyann)
    hit = [
        name
        for name in WIRES.values()
        if there[name][0].get_bbox().padded(1e-6).contains(*into_wire.xy)
    ]
    assert hit == [WIRES[wire]]
    assert "in place of this text's L0H2" in said(ax.figure)


def test_every_head_and_the_embedding_write_into_the_sum_and_every_wire_reads_it():
    plots.path_patch(HEADS, "L0H0", "k")
    (ax,) = drawn().axes
    (total,) = boxes(ax)["sum"]
    left, right = total.get_bbox().x0, total.get_bbox().x1
    ends = [a for a in arrows(ax, dashed=False) if a.xy[0] == pytest.approx(left)]
    starts = [a for a in arrows(ax, dashed=False) if a.xyann[0] == pytest.approx(right)]
    assert len(ends) == len(HEADS) + 1
    assert len(starts) == len(WIRES) + 1  # and the logits


def side(a, b, point):
    return (b[0] - a[0]) * (point[1] - a[1]) - (b[1] - a[1]) * (point[0] - a[0])


def cross(one, other):
    """Whether two straight pieces have a point in common that is an end of neither."""
    return all(
        side(*of, start) * side(*of, end) < -1e-9
        for of, (start, end) in ((one, other), (other, one))
    )


@pytest.mark.parametrize("wire", WIRES)
def test_no_two_paths_cross(wire):
    plots.path_patch(HEADS, "L0H2", wire)
    (ax,) = drawn().axes
    pieces = [(a.xyann, a.xy) for dashed in (True, False) for a in arrows(ax, dashed)]
    for line in ax.lines:
        corners = [tuple(corner) for corner in line.get_xydata()]
        pieces += pairwise(corners)
    assert len(pieces) > 15
    assert not [(a, b) for a in pieces for b in pieces if cross(a, b)]
