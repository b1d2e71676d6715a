"""What is waited for: bars as long as their share of the measured time."""

import matplotlib.pyplot as plt
import pytest

from mhsa_book.plots.waits import waits
from tests.mhsa_book.plots.figure import drawn, said

NEEDED = {
    "a prompt": {"arithmetic": 0.6, "memory": 0.1, "calls": 0.02},
    "a token": {"arithmetic": 0.01, "memory": 0.04},
}
TOOK = {"a prompt": 0.8, "a token": 0.05}


def test_bars_are_shares_of_the_measured_time_and_say_so():
    plt.close("all")
    waits(NEEDED, TOOK)
    fig = drawn()
    (ax,) = fig.axes
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(
        [0.75, 0.125, 0.025, 0.2, 0.8]
    )
    words = {word.strip() for word in said(fig)}
    assert {"arithmetic 75%", "memory 80%", "calls 2%", "a prompt", "a token"} <= words
    assert ax.patches[0].get_hatch() == ax.patches[3].get_hatch() != ax.patches[1].get_hatch()
    assert [*ax.lines[0].get_xdata()] == [1, 1]
    rows = [bar.get_y() for bar in ax.patches]
    assert rows == sorted(set(rows))
    plt.close("all")


@pytest.mark.parametrize(
    ("steps", "took"),
    [
        ({}, {}),
        (NEEDED, {"a prompt": 1.0}),
        ({"a": {}}, {"a": 1.0}),
        (NEEDED, {**TOOK, "a token": 0.0}),
    ],
)
def test_what_cannot_be_a_share_is_refused(steps, took):
    with pytest.raises(ValueError, match=r"nothing to draw|no measured time"):
        waits(steps, took)
