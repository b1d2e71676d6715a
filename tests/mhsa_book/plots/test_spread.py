"""Every seed is drawn, and how far they lie apart."""

import matplotlib.pyplot as plt
import pytest

from mhsa_book import plots

VALUES = {"plain": (0.5, 0.6, 0.7), "b": (0.9, 0.9, 0.6)}


def test_every_seed_is_a_point_and_the_bar_is_one_standard_deviation():
    plt.close("all")
    plots.seeds(VALUES, "accuracy")
    (ax,) = plt.gcf().axes
    points = [line for line in ax.lines if line.get_linestyle() == "None"]
    found = [sorted(line.get_xdata()) for line in points if len(line.get_xdata()) == 3]
    assert found == [[0.5, 0.6, 0.7], [0.6, 0.9, 0.9]]
    bars = [segment for bar in ax.collections for segment in bar.get_segments()]
    ends = [tuple(x for x, _ in segment) for segment in bars]
    assert ends == [  # divided by n - 1
        pytest.approx((0.5, 0.7)),
        pytest.approx((0.8 - 0.03**0.5, 0.8 + 0.03**0.5)),
    ]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["plain", "b"]
    assert [text.get_text() for text in ax.texts] == ["0.600 ± 0.100", "0.800 ± 0.173"]
    plt.close("all")


def test_a_name_with_one_seed_is_refused():
    with pytest.raises(ValueError, match=r"\['b'\] have one seed or none, and no spread"):
        plots.seeds(VALUES | {"b": (0.5,)}, "accuracy")
