"""Every share stands in its square, and the line runs below what is enough."""

import matplotlib.pyplot as plt
import pytest

from mhsa_book.plots.staircase import staircase

SHARES = [[1.0, 0.75, 0.5], [1.0, 1.0, 0.875], [1.0, 1.0, 1.0]]


def test_a_share_stands_where_it_belongs_and_the_line_passes_below_the_diagonal():
    plt.close("all")
    staircase({"look-ups": ("questions", "heads", SHARES), "codes": ("signs", "width", SHARES)})
    ax, other = plt.gcf().axes
    written = {tuple(map(int, t.get_position())): t.get_text() for t in ax.texts}
    assert written[2, 1] == "0.75"  # two questions, one head
    assert written[3, 2] == "0.88"
    assert len(written) == 9
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("questions", "heads")
    assert other.get_title() == "codes"
    (line,) = ax.lines
    corners = [*zip(line.get_xdata(), line.get_ydata(), strict=True)]
    assert corners[:3] == [(0.5, 0.5), (1.5, 0.5), (1.5, 1.5)]
    for asked in (1, 2, 3):  # over each column, the step is right below its enough
        assert {y for x, y in corners if x in (asked - 0.5, asked + 0.5)} >= {asked - 0.5}
        assert (asked + 0.5, asked - 0.5) in corners
    plt.close("all")


@pytest.mark.parametrize(
    ("shares", "wrong"),
    [
        ([[1.0, 0.5]], "give as many rows as columns"),
        ([[1.5]], "outside 0 to 1"),
        ([[float("nan")]], "outside 0 to 1"),
    ],
)
def test_a_table_that_is_no_staircase_is_refused(shares, wrong):
    with pytest.raises(ValueError, match=wrong):
        staircase({"look-ups": ("questions", "heads", shares)})


def test_no_panel_is_refused():
    with pytest.raises(ValueError, match="give one at least"):
        staircase({})
