"""Every order is a line with its intervals, and the drawn ones are a band behind them."""

import matplotlib.pyplot as plt
import pytest

from mhsa_book.plots.cuts import cuts
from mhsa_book.results.bootstrap import Interval

SIZES = [0, 9, 27]
CHOSEN = [Interval(0.0, 0.0, 0.0), Interval(0.1, 0.05, 0.2), Interval(0.3, 0.2, 0.5)]
DRAWN = [[0.0, 0.5, 1.0], [0.0, 0.25, 2.0], [0.0, 0.75, 1.5]]


def test_lines_bars_and_the_band_are_the_numbers():
    plt.close("all")
    one = {"chosen": CHOSEN, "second": CHOSEN[::-1]}
    cuts(
        SIZES,
        {"loss": one, "share": {"second": CHOSEN}},
        dict.fromkeys(("loss", "share"), DRAWN),
        "n",
    )
    loss, share = plt.gcf().axes
    assert [loss.get_ylabel(), share.get_ylabel()] == ["loss", "share"]
    grey = [[*line.get_ydata()] for line in loss.lines if len(line.get_xdata()) == 3][:3]
    assert grey == DRAWN
    band = loss.collections[0].get_paths()[0].vertices
    for size, low, high in zip(SIZES, (0, 0.25, 1.0), (0, 0.75, 2.0), strict=True):
        heights = [y for x, y in band if x == size]
        assert [min(heights), max(heights)] == [low, high]
    first, second = loss.containers
    assert [*first[0].get_ydata()] == [each.mean for each in CHOSEN]
    bars = [[*segment[:, 1]] for segment in first[2][0].get_segments()]
    assert bars == [pytest.approx([each.low, each.high]) for each in CHOSEN]
    assert first[0].get_color() != second[0].get_color()
    assert share.containers[0][0].get_color() == second[0].get_color()  # by its name
    (legend,) = plt.gcf().legends
    assert [t.get_text() for t in legend.get_texts()] == ["drawn orders", "chosen", "second"]
    plt.close("all")


def test_other_draws_are_dashed_and_guessing_is_a_line_across_its_panel():
    plt.close("all")
    panels = {"loss": {"chosen": CHOSEN}, "share": {"chosen": CHOSEN}}
    drawn = dict.fromkeys(panels, DRAWN)
    groups = [0.0, 3.0, 4.0]
    cuts(SIZES, panels, drawn, "n", also_drawn={"loss": [groups]}, guessing={"share": 0.5})
    loss, share = plt.gcf().axes
    dashed = [line for line in loss.lines if line.is_dashed() and len(line.get_xdata()) == 3]
    assert groups in [[*line.get_ydata()] for line in dashed]
    assert max(y for _, y in loss.collections[0].get_paths()[0].vertices) == 2  # no shade
    across = [[*line.get_ydata()] for line in share.lines]
    assert [0.5, 0.5] in across
    assert [0.5, 0.5] not in [[*line.get_ydata()] for line in loss.lines]
    (legend,) = plt.gcf().legends
    names = ["drawn orders", "drawn whole groups", "guessing", "chosen"]
    assert [t.get_text() for t in legend.get_texts()] == names
    plt.close("all")


@pytest.mark.parametrize("more", [{"also_drawn": {"los": DRAWN}}, {"guessing": {"los": 0.5}}])
def test_a_panel_that_there_is_not_is_refused(more):
    with pytest.raises(ValueError, match="los"):
        cuts(SIZES, {"loss": {"a": CHOSEN}}, {"loss": DRAWN}, "n", **more)


@pytest.mark.parametrize(
    ("panels", "drawn"),
    [({}, {}), ({"loss": {"a": CHOSEN[:2]}}, {"loss": DRAWN}), ({"loss": {"a": CHOSEN}}, {})],
)
def test_what_does_not_fit_is_refused(panels, drawn):
    with pytest.raises(ValueError, match="a number for each size"):
        cuts(SIZES, panels, drawn, "n")
