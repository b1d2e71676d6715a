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


def rotated_panels(*given):
    plt.close("all")
    plots.rotated(*given)
    return plt.gcf().axes


def tips_of(ax):
    """Where the arrows end, the query's first."""
    return [np.array(note.xy) for note in ax.texts if getattr(note, "arrow_patch", None)]


def test_arrows_are_rotated_by_their_positions():
    query, key, places = (2, 1), (1, 2), [(3, 1), (6, 4), (6, 1)]
    panels = rotated_panels(query, key, 30, places)
    for ax, (i, j) in zip(panels, places, strict=True):
        q, k = (complex(*row) * np.exp(1j * np.pi / 6 * n) for row, n in ((query, i), (key, j)))
        for tip, wanted in zip(tips_of(ax), (q, k), strict=True):
            assert complex(*tip) == pytest.approx(wanted)
        said = f"{(q * k.conjugate()).real:.2f}".replace("-", "−")
        angle = np.degrees(np.arccos((q * k.conjugate()).real / abs(q) / abs(k)))
        wanted = f"query at {i}, key at {j}\nangle {angle:.0f}°, q · k = {said}"
        assert ax.get_title() == wanted
        (arc,) = ax.patches  # from one arrow to the other, the short way
        ends = {round(np.degrees(np.angle(row))) % 360 for row in (q, k)}
        assert {round(arc.theta1) % 360, round(arc.theta2) % 360} == ends
        assert (arc.theta2 - arc.theta1) % 360 == pytest.approx(angle)
    titles = [ax.get_title().splitlines()[1] for ax in panels]
    assert titles[0] == titles[1] != titles[2]
    plt.close("all")


@pytest.mark.parametrize("given", [((1, 2, 3), (1, 2), [(0, 1)]), ((1, 2), (1, 2), [])])
def test_what_is_no_pair_of_arrows_cannot_be_rotated(given):
    query, key, places = given
    with pytest.raises(ValueError, match="two rows of two numbers"):
        plots.rotated(query, key, 30, places)
