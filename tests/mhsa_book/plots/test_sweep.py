"""Every seed of every size is drawn, and the line goes through their means."""

import matplotlib.pyplot as plt
import pytest

from mhsa_book import plots

EASY = {"wide": {1: (0.5, 0.7), 4: (1.0, 0.9)}, "thin": {4: (0.2, 0.4), 16: (0.6,)}}


def test_points_are_seeds_and_lines_are_means():
    plt.close("all")
    plots.sweep({"easy": EASY, "hard": {"thin": {1: (0.1,)}}}, "n_heads", "accuracy")
    easy, hard = plt.gcf().axes
    points = [line for line in easy.lines if line.get_linestyle() == "None"]
    means = [line for line in easy.lines if line.get_linestyle() != "None"]
    assert [sorted(line.get_ydata()) for line in points] == [
        [0.5, 0.7], [0.9, 1.0], [0.2, 0.4], [0.6],
    ]  # fmt: skip
    assert [pytest.approx([*line.get_ydata()]) for line in means] == [[0.6, 0.95], [0.3, 0.6]]
    assert [round(x) for line in means for x in line.get_xdata()] == [0, 1, 1, 2]
    assert [text.get_text() for text in easy.get_xticklabels()] == ["1", "4", "16"]
    assert len(hard.lines) == 2
    assert means[0].get_color() != means[1].get_color()
    assert hard.lines[0].get_color() == means[1].get_color()  # by its name
    (legend,) = plt.gcf().legends
    assert [text.get_text() for text in legend.get_texts()] == ["wide", "thin"]
    plt.close("all")


@pytest.mark.parametrize("panels", [{}, {"easy": {}}, {"easy": {"wide": {1: ()}}}])
def test_nothing_to_draw_is_refused(panels):
    with pytest.raises(ValueError, match="give every size of a series its seeds"):
        plots.sweep(panels, "n_heads", "accuracy")
