"""A roof bends at its ridge, and points lie where they were measured."""

import matplotlib.pyplot as plt
import pytest

from mhsa_lib import plots
from mhsa_lib.costs.roofline import Rates
from tests.plots.figure import drawn, said


def test_a_roof_bends_at_its_ridge_and_points_lie_where_they_were_measured():
    plots.roofline({"here": Rates(100e9, 25e9)}, {"W_O": (0.5, 1e10), "mix": (16.0, 9e10)})
    (ax,) = drawn().axes
    roof, first, second = ax.lines
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    low, bend, high = roof.get_xdata()
    assert bend == 4.0
    assert roof.get_ydata()[1:].tolist() == [100e9, 100e9]
    assert roof.get_ydata()[0] == pytest.approx(25e9 * low)
    assert low < 0.5
    assert high > 16
    assert [*first.get_xydata()[0], *second.get_xydata()[0]] == [0.5, 1e10, 16.0, 9e10]
    assert first.get_marker() != second.get_marker()
    assert {"here, ridge 4", "W_O", "mix"} <= said(plt.gcf())
