"""Every page, opened over http and from a file with all other hosts blocked, is whole."""

import os
import shutil

import pytest

from tools.browser import DESKTOP, visit
from tools.pages import SITE

CHAPTER = "notebooks/10_heads_of_a_real_model.html"  # has formulas, pictures and BertViz


def about(visits, attribute):
    return [f"{v.name}: {line}" for v in visits for line in getattr(v, attribute)]


def test_no_page_asks_another_host_for_anything(visits):
    assert about(visits, "asked") == []


def test_everything_a_page_asks_for_is_there(visits):
    assert about(visits, "failed") == []


def test_the_console_of_every_page_is_clean(visits):
    assert about(visits, "console") == []


def test_no_page_shows_a_traceback(visits):
    words = ["Traceback (most recent call last)", "<Figure size", "<Axes:", "could not start"]
    docstrings = ("_modules", "book/api")  # where an example may show one
    chapters = [v for v in visits if not v.name.startswith(docstrings)]
    assert [f"{v.name}: {w}" for v in chapters for w in words if w in v.text] == []


def test_every_formula_is_typeset(visits):
    poor = [f"{v.name}: {v.typeset} of {v.formulas}" for v in visits if v.typeset != v.formulas]
    assert poor == []
    assert any(v.formulas for v in visits)


def test_every_live_figure_is_alive(visits, say):
    say(
        "Live figures: alive, of all",
        [f"{v.alive:2} of {v.figures:2}  {v.name}" for v in visits if v.figures],
    )
    assert [v.name for v in visits if v.alive != v.figures] == []
    assert any(v.figures for v in visits)


def test_bertviz_draws_its_picture(visits):
    drawn = {v.name: v.views for v in visits if v.views}
    assert drawn[CHAPTER]
    assert [name for name, views in drawn.items() if min(views) < 10] == []


@pytest.fixture
def copy(tmp_path, pages):
    """A copy of the site from which files may be taken away; the others are links."""
    return shutil.copytree(SITE, tmp_path / "html", copy_function=os.link)


@pytest.mark.parametrize(
    "taken",
    [
        "vendor/mathjax/tex-chtml.js",
        "vendor/mathjax/output/chtml/fonts/woff-v2/MathJax_Main-Regular.woff",
        "vendor/d3.min.js",
        "vendor/jquery.min.js",
        "vendor/fonts/serif.woff2",
        "_static/book.css",
        "_static/scripts/pydata-sphinx-theme.js",
        "_images/*.png",
    ],
)
def test_a_file_that_is_taken_away_is_missed(copy, chromium, taken):
    files = list(copy.glob(taken))
    assert files
    for file in files:
        file.unlink()
    context = chromium.new_context(viewport=DESKTOP)
    complaints = visit(context, copy.as_uri(), CHAPTER).complaints
    context.close()
    assert any(file.name in line for file in files for line in complaints)
