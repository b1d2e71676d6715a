"""A row for each need, a mark for each way, the same look for a way everywhere."""

import matplotlib.pyplot as plt
import pytest

from mhsa_book.plots.kernel_times import kernel_times

NEEDS = {"causal": {"flag": 4.0, "tensor": 15.0}, "window": {"tensor": 14.0, "rule": 1.0}}


def test_marks_are_the_times():
    plt.close("all")
    kernel_times(NEEDS, "ms")
    (ax,) = plt.gcf().axes
    marks = {line.get_label(): line for line in ax.lines if line.get_marker() != "None"}
    assert [*marks["flag"].get_xdata()] == [4.0]
    assert [*marks["tensor"].get_xdata()] == [15.0, 14.0]
    assert [*marks["tensor"].get_ydata()] == [0, 1]
    assert [*marks["rule"].get_ydata()] == [1]
    looks = {(line.get_color(), line.get_marker()) for line in marks.values()}
    assert len(looks) == 3
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [*NEEDS]
    assert (ax.get_xscale(), ax.get_xlabel()) == ("log", "ms")
    plt.close("all")


def test_nothing_or_no_time_is_refused():
    with pytest.raises(ValueError, match="wants a time"):
        kernel_times({}, "ms")
    with pytest.raises(ValueError, match="wants a time"):
        kernel_times({"causal": {}}, "ms")
    with pytest.raises(ValueError, match=r"'causal'.*above 0"):
        kernel_times({"causal": {"flag": 0.0}}, "ms")
