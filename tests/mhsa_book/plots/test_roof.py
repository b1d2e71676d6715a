"""A roof bends at its ridge, and points lie where they were measured."""

import matplotlib.pyplot as plt
import pytest

from mhsa_book import plots
from mhsa_book.costs.roofline import Rates
from tests.mhsa_book.plots.figure import drawn, said


def test_a_roof_bends_at_its_ridge_and_points_lie_where_they_were_measured():
    measured = {
        "prefill": {"W_O": (16.0, 9e10), "mix": (8.0, 8e10)},
        "decode": {"W_O": (0.5, 1e10)},
    }
    plots.roofline({"here": Rates(100e9, 25e9)}, measured)
    (ax,) = drawn().axes
    roof, first, mix, second = ax.lines
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    low, bend, high = roof.get_xdata()
    assert bend == 4.0
    assert roof.get_ydata()[1:].tolist() == [100e9, 100e9]
    assert roof.get_ydata()[0] == pytest.approx(25e9 * low)
    assert low < 0.5
    assert high > 16
    assert [*first.get_xydata()[0], *second.get_xydata()[0]] == [16.0, 9e10, 0.5, 1e10]
    assert first.get_marker() == second.get_marker() != mix.get_marker()
    assert first.get_color() == mix.get_color() != second.get_color()
    (legend,) = plt.gcf().legends
    colours = {line.get_label(): line.get_color() for line in legend.legend_handles[:2]}
    assert colours == {"prefill": first.get_color(), "decode": second.get_color()}
    shapes = {line.get_label(): line.get_marker() for line in legend.legend_handles[2:]}
    assert shapes == {"W_O": first.get_marker(), "mix": mix.get_marker()}
    assert "here, ridge 4" in said(plt.gcf())
