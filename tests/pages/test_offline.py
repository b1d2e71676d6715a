"""Each page from a file, all other hosts blocked, is whole; what is missing is said."""

import os
import shutil

import pytest

from tests.pages.whole import wrong
from tools.check.browser import DESKTOP, visit

CHAPTER = "notebooks/11_heads_of_a_real_model.html"  # has pictures and BertViz
FORMULAS = "notebooks/05_attend.html"


@pytest.mark.parametrize("page", ["book/intro.html", "notebooks/05_attend.html", CHAPTER])
def test_a_page_from_a_file_is_whole(page, dark, site):
    assert wrong(visit(dark, site.as_uri(), page)) == []


@pytest.mark.slow  # http shows the same of the others
def test_so_is_every_other(name, dark, site):
    assert wrong(visit(dark, site.as_uri(), name)) == []


def test_formulas_live_figures_and_the_marks_of_bertviz_are_counted(dark, site):
    seen = visit(dark, site.as_uri(), CHAPTER)
    assert min(seen.figures, len(seen.views)) > 0
    assert visit(dark, site.as_uri(), FORMULAS).formulas > 0


@pytest.fixture
def copy(tmp_path, site):
    """A copy of the site from which files may be taken away; the others are links."""
    return shutil.copytree(site, tmp_path / "html", copy_function=os.link)


@pytest.mark.parametrize(
    "taken",
    [
        "vendor/mathjax/tex-chtml.js",
        "vendor/mathjax/output/chtml/fonts/woff-v2/MathJax_Main-Regular.woff",
        "vendor/d3.min.js",
        pytest.param("vendor/jquery.min.js", marks=pytest.mark.slow),  # as d3 is missed
        "vendor/fonts/serif.woff2",
        "_static/book.css",
        "_static/scripts/pydata-sphinx-theme.js",
        "_images/*.svg",
    ],
)
def test_a_file_that_is_taken_away_is_missed(copy, chromium, taken):
    files = list(copy.glob(taken))
    assert files
    for file in files:
        file.unlink()
    context = chromium.new_context(viewport=DESKTOP)
    page = FORMULAS if "mathjax" in taken else CHAPTER
    complaints = visit(context, copy.as_uri(), page).complaints
    context.close()
    assert any(file.name in line for file in files for line in complaints)
