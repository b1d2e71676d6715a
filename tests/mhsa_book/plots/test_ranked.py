"""Rows are sorted by their means, and every point and bar stands where it was given."""

import matplotlib.pyplot as plt
import pytest

from mhsa_book.plots.ranked import ranked_intervals
from mhsa_book.results.bootstrap import Interval

LEAKS = {"inverted": Interval(0.8, 0.5, 1.1), "forgotten": Interval(-3.0, -3.7, -1.8)}
OTHERS = {"no scale": Interval(1.6, 1.3, 1.9), "base": Interval(0.0, -0.1, 0.1)}


def test_rows_are_sorted_over_all_groups_and_groups_look_different():
    ranked_intervals({"leaks": LEAKS, "others": OTHERS}, "change")
    (ax,) = plt.gcf().axes
    rows = [text.get_text() for text in ax.get_yticklabels()]
    assert rows == ["forgotten", "base", "inverted", "no scale"]
    first, second = ax.containers
    for group, container in ((LEAKS, first), (OTHERS, second)):
        line, _, (bars,) = container
        drawn = {rows[int(y)]: float(x) for x, y in zip(*line.get_data(), strict=True)}
        assert drawn == {name: value.mean for name, value in group.items()}
        ends = [segment[:, 0].tolist() for segment in bars.get_segments()]
        assert ends == [pytest.approx([value.low, value.high]) for value in group.values()]
    assert first[0].get_color() != second[0].get_color()
    assert first[0].get_marker() != second[0].get_marker()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["leaks", "others"]
    assert ax.yaxis_inverted()  # the lowest mean is on top


def test_nothing_to_draw_and_a_name_in_two_groups_are_refused():
    with pytest.raises(ValueError, match="no interval to draw"):
        ranked_intervals({"leaks": {}}, "change")
    with pytest.raises(ValueError, match="base: in more than one group"):
        ranked_intervals({"leaks": {"base": LEAKS["inverted"]}, "others": OTHERS}, "change")
