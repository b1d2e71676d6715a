"""Tables with a sign are white at zero and say every number."""

import pytest
import torch

from mhsa_book import plots
from tests.mhsa_book.plots.figure import drawn, panels


def test_a_signed_table_is_white_at_zero_and_says_every_sign():
    tables = torch.tensor([[[0.25, -0.5], [12.4, 0.0]]])
    plots.signed(tables, ["a", "b"], ["x", "y"], ["head 0"])
    (ax,) = panels(drawn())
    assert {"0.2", "−0.5", "12", "0"} <= {text.get_text() for text in ax.texts}
    low, high = ax.images[0].get_clim()
    assert (low, high) == pytest.approx((-12.4, 12.4))
    assert min(ax.images[0].cmap(0.5)) > 0.99


def test_pictures_may_share_their_colours():
    plots.signed(torch.tensor([[[0.25, -0.5]]]), ["a"], ["x", "y"], ["head 0"], limit=2)
    (ax,) = panels(drawn())
    assert ax.images[0].get_clim() == pytest.approx((-2, 2))
    with pytest.raises(ValueError, match=r"limit=0.4 is below the largest number, 0.5; raise"):
        plots.signed(torch.tensor([[[0.25, -0.5]]]), ["a"], ["x", "y"], ["head 0"], limit=0.4)
