"""A circuit has a box for every head, and arrows that end at boxes."""

import pytest
from matplotlib.patches import FancyBboxPatch
from matplotlib.text import Annotation

from mhsa_book.plots.circuit import Tells, circuit
from tests.mhsa_book.plots.figure import drawn

BOXES = {"A": (0, 0, "first"), "B": (2, 0, "second"), "C": (2, 1, "third")}


def test_every_arrow_leads_from_the_edge_of_its_sender_to_the_edge_of_its_receiver():
    circuit(BOXES, [Tells("A", "B", "hello"), Tells("B", "C", against=True)])
    (ax,) = drawn().axes
    boxes = [p for p in ax.patches if isinstance(p, FancyBboxPatch)]
    assert len(boxes) == 3
    names = [t.get_text() for t in ax.texts]
    assert {"A\nfirst", "B\nsecond", "C\nthird", "hello"} <= {*names}
    arrows = [a for a in ax.texts if isinstance(a, Annotation) and a.arrowprops]
    a, b, c = (box.get_window_extent().transformed(ax.transData.inverted()) for box in boxes)
    for arrow, start, end in zip(arrows, (a, b), (b, c), strict=True):
        assert start.padded(0.02).contains(*arrow.xyann)
        assert end.padded(0.02).contains(*arrow.xy)
        assert not end.padded(-0.02).contains(*arrow.xy)
    assert [arrow.arrowprops["linestyle"] for arrow in arrows] == ["-", "--"]


@pytest.mark.parametrize("boxes", [{}, BOXES])
def test_an_arrow_to_nowhere_is_refused(boxes):
    with pytest.raises(ValueError, match="'D'"):
        circuit(boxes, [Tells("A", "D")])
