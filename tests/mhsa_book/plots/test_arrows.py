"""A dot product is drawn as how far one arrow goes along another."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mhsa_book import plots


def drawn(rows):
    plt.close("all")
    plots.dot_products(rows)
    (ax,) = plt.gcf().axes
    return ax


def test_every_arrow_says_its_dot_product_with_the_first():
    ax = drawn({"a": (2, 1), "b": (1, 2), "c": (-1, 2), "d": (-2, -2)})
    said = {text.get_text() for text in ax.texts}
    assert said >= {"a", "a · b = 4", "a · c = 0", "a · d = −6"}
    plt.close("all")


@pytest.mark.parametrize("other", [(1, 2), (-3, 0.5), (0, 0)])
def test_a_dashed_line_meets_the_first_row_at_a_right_angle(other):
    first = np.array((2, 1))
    ax = drawn({"a": first, "b": other})
    (dashed,) = [line for line in ax.lines if line.get_linestyle() == "--"]
    tip, foot = dashed.get_xydata()
    assert tip.tolist() == list(other)
    assert abs((tip - foot) @ first) < 1e-12
    assert abs(foot[0] * first[1] - foot[1] * first[0]) < 1e-12  # on the line of the first
    assert foot @ first == pytest.approx(np.dot(other, first))
    plt.close("all")
