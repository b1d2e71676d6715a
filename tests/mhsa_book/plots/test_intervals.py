"""Every mean stands in its row, between the ends of its interval, and looks like its series."""

import matplotlib.pyplot as plt
import pytest

from mhsa_book import plots
from mhsa_book.results.bootstrap import Interval

ONE = {"store": Interval(0.9, 0.7, 1.0), "station": Interval(0.5, 0.4, 0.8)}
TWO = {"station": Interval(0.2, 0.0, 0.3)}


def points_and_ends(ax):
    """For each series of a panel: its points, and both ends of every bar."""
    return [
        (
            [(float(x), float(y)) for x, y in zip(*line.get_data(), strict=True)],
            [segment[:, 0].tolist() for segment in bars.get_segments()],
            line,
        )
        for line, _, (bars,) in ax.containers
    ]


def test_means_and_ends_are_those_that_were_given():
    plt.close("all")
    plots.intervals({"mean": {"on": ONE, "off": TWO}, "drawn": {"off": ONE}}, "share")
    left, right = plt.gcf().axes
    (on, on_ends, on_line), (off, off_ends, off_line) = points_and_ends(left)
    ((_, again_ends, again_line),) = points_and_ends(right)
    assert [x for x, _ in on] == [0.9, 0.5]
    assert [pytest.approx(ends) for ends in on_ends] == [[0.7, 1.0], [0.4, 0.8]]
    assert [round(y) for _, y in on] == [0, 1]
    assert [(x, round(y)) for x, y in off] == [(0.2, 1)]
    assert [pytest.approx(ends) for ends in off_ends] == [[0.0, 0.3]]
    assert on[1][1] < off[0][1]  # beside each other in their row
    assert again_ends == on_ends
    assert again_line.get_color() == off_line.get_color() != on_line.get_color()
    assert again_line.get_marker() == off_line.get_marker() != on_line.get_marker()
    assert [text.get_text() for text in left.get_yticklabels()] == ["store", "station"]
    (legend,) = plt.gcf().legends
    assert [text.get_text() for text in legend.get_texts()] == ["on", "off"]
    plt.close("all")


@pytest.mark.parametrize("panels", [{}, {"mean": {}}, {"mean": {"on": {}}}])
def test_nothing_to_draw_is_refused(panels):
    with pytest.raises(ValueError, match="no interval to draw"):
        plots.intervals(panels, "share")
