"""A circuit has a box for every head, and arrows that end at boxes."""

import pytest
from matplotlib.patches import FancyBboxPatch
from matplotlib.text import Annotation

from mhsa_book.plots.circuit import Tells, circuit
from tests.mhsa_book.plots.figure import drawn

BOXES = {"A": (0.0, 0.0, "first"), "B": (2.0, 0.0, "second"), "C": (2.0, 1.0, "third")}


def touches(ax, box, point):
    """Whether a point lies on the edge of a box, or within two hundredths of an inch of it."""
    (x0, y0), (x1, y1) = ax.transData.inverted().transform(box.get_window_extent())
    x, y = point
    beyond = max(min(x0, x1) - x, x - max(x0, x1), min(y0, y1) - y, y - max(y0, y1))
    return abs(beyond) < 0.02


def test_every_arrow_leads_from_the_edge_of_its_sender_to_the_edge_of_its_receiver():
    circuit(BOXES, [Tells("A", "B", "hello"), Tells("B", "C", against=True)])
    (ax,) = drawn().axes
    boxes = [p for p in ax.patches if isinstance(p, FancyBboxPatch)]
    assert len(boxes) == 3
    names = [t.get_text() for t in ax.texts]
    assert {"A\nfirst", "B\nsecond", "C\nthird", "hello"} <= {*names}
    arrows = [a for a in ax.texts if isinstance(a, Annotation) and a.arrowprops]
    for arrow, start, end in zip(arrows, boxes[:2], boxes[1:], strict=True):
        assert touches(ax, start, arrow.xyann)
        assert touches(ax, end, arrow.xy)
        assert not touches(ax, start, arrow.xy)
    assert [arrow.arrowprops["linestyle"] for arrow in arrows] == ["-", "--"]


@pytest.mark.parametrize("boxes", [{}, BOXES])
def test_an_arrow_to_nowhere_is_refused(boxes):
    with pytest.raises(ValueError, match="'D'"):
        circuit(boxes, [Tells("A", "D")])
