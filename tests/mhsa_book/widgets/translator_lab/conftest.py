"""The assets of the book beside a page, and a figure that has loaded them."""

import pytest

from mhsa_book.widgets.translator_lab import weights
from tests.mhsa_book.widgets.translator_lab.reader import load
from tools.build import assets


@pytest.fixture
def beside(tmp_path):
    """The asset of the translator where a page looks for it; the sizes of its files."""
    return assets.write(tmp_path / "vendor" / "assets", (weights.asset,))


@pytest.fixture
def loaded(open_figure, beside):
    """Open a figure and press its button."""
    return lambda figure, **options: load(open_figure(figure, **options))
