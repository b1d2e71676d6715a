"""Each bar says how many lengths divide its distance, and each curve has its name."""

import matplotlib.pyplot as plt
import pytest

from mhsa_book.plots.distances import distances


def test_bars_and_curves_are_those_that_were_given():
    shares = {"own": {2: 0.9, 3: 0.5}, "blind": {2: 0.8, 3: 0.4}}
    distances([0.1, 0.9, -0.2], [0, 2, 1], shares)
    left, beside = plt.gcf().axes
    assert [bar.get_height() for bar in left.patches] == [0.1, 0.9, -0.2]
    assert [text.get_text() for text in left.texts] == ["", "2", "1"]
    assert [[*line.get_ydata()] for line in beside.lines] == [[0.9, 0.5], [0.8, 0.4]]
    assert [text.get_text() for text in beside.get_legend().get_texts()] == ["own", "blind"]


@pytest.mark.parametrize(
    ("raised", "counts", "right"),
    [([], [], {"a": {2: 1.0}}), ([0.1], [1, 2], {"a": {2: 1.0}}), ([0.1], [1], {})],
)
def test_what_cannot_be_drawn_is_refused(raised, counts, right):
    with pytest.raises(ValueError, match="give one count for every bar"):
        distances(raised, counts, right)
