"""The assets of the book beside a page, and a figure that has loaded them."""

import pytest

from tests.widgets.translator_lab.reader import load
from tools.build import assets


@pytest.fixture
def beside(tmp_path):
    """The assets of the book where a page looks for them; their sizes."""
    return assets.write(tmp_path / "vendor" / "assets")


@pytest.fixture
def loaded(open_figure, beside):
    """Open a figure and press its button."""
    return lambda figure, **options: load(open_figure(figure, **options))
