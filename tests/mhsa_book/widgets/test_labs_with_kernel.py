"""Four figures in JupyterLab: what is moved arrives, what Python sets or says is shown."""

import pytest
from playwright.sync_api import expect

from tests.helpers.lab import WAIT, Notebook
from tests.mhsa_book.widgets.conftest import confirm

pytest.importorskip("jupyterlab")
pytestmark = pytest.mark.slow  # a server and a kernel

CELLS = {  # a figure, what is read of it, and what is set
    "ComposeLab": (
        "from mhsa_book.widgets import ComposeLab\nlab = ComposeLab()\nlab",
        "lab.gates, lab.query, lab.key, lab.maps['W_b'][0][0]",
        "lab.static, lab.query, lab.key = 0, 1, 0",
    ),
    "LanguageModelLab": (
        "from mhsa_book.widgets import LanguageModelLab\nlab = LanguageModelLab()\nlab",
        "lab.prompt[:4], lab.found['next'][0]['text']",  # what is typed stays in the page
        "lab.prompt = 'The capital of France is'",
    ),
    "NineHeads": (
        "from mhsa_book.widgets import NineHeads\nlab = NineHeads()\nlab",
        "lab.off, lab.head",
        "lab.off, lab.word = [0, 1, 2, 3, 4, 5], 9",
    ),
    "ScoresLab": (
        "from mhsa_book.widgets import ScoresLab\nlab = ScoresLab()\nlab",
        "lab.key, lab.removed, lab.scores[1], lab.part",
        "lab.removed, lab.key, lab.gate = [], 0, 1",
    ),
}


@pytest.fixture
def opened(server, chromium):
    """A notebook with one figure: its page, and the figure once it is alive."""
    books = []

    def open_one(name):
        books.append(Notebook(server, chromium, name, list(CELLS[name])))
        figure = books[-1].run(0)
        expect(figure.locator(".mhsa-body")).to_be_visible(timeout=WAIT)
        return books[-1], figure

    yield open_one
    for book in books:
        book.page.close()


def test_the_compose_lab_and_python_change_each_other(opened):
    book, figure = opened("ComposeLab")
    confirm(figure.get_by_label("gates, exactly"), "0.5")
    confirm(figure.get_by_label("W_b[0, 0]", exact=True), "2.5")
    figure.get_by_role("button", name="head 0, sat looks at cat").click()
    expect(book.run(1)).to_have_text("(0.5, 2, 1, 2.5)")
    book.run(2)
    expect(figure.get_by_label("static part, exactly")).to_have_value("0")
    expect(figure.locator(".mhsa-said")).to_contain_text("looks at “\u2068The\u2069”: (")


def test_the_scores_lab_and_python_change_each_other(opened):
    book, figure = opened("ScoresLab")
    confirm(figure.get_by_label("score, exactly"), "2.5")
    confirm(figure.get_by_label("λ, exactly"), "0.3")
    figure.get_by_label("key", exact=True).select_option("5: mat")
    figure.get_by_label("is there").uncheck()
    expect(book.run(1)).to_have_text("(5, [5], 2.5, 0.3)")
    book.run(2)
    expect(figure.get_by_label("key", exact=True).locator("option:checked")).to_have_text(
        "0: The"
    )
    expect(figure.get_by_label("is there")).to_be_checked()
    expect(figure.get_by_label("g, exactly")).to_have_value("1")


def test_the_language_model_lab_hears_what_python_says(opened):
    book, figure = opened("LanguageModelLab")
    figure.get_by_role("button", name="Start the model in Python").click()
    expect(figure).to_contain_text("values of 14 tokens", timeout=WAIT)
    field = figure.get_by_label("prompt", exact=True)
    confirm(field, "Paris is the capital of France. Berlin is the capital of")
    first = figure.locator(".mhsa-word").first
    expect(first).to_contain_text(" Germany", timeout=WAIT)
    expect(book.run(1)).to_have_text("('When', ' Mary')")
    book.run(2)
    expect(first).to_contain_text(" Paris", timeout=WAIT)
    expect(figure).to_contain_text("values of 5 tokens", timeout=WAIT)


def test_the_nine_heads_and_python_change_each_other(opened):
    book, figure = opened("NineHeads")
    figure.get_by_role("button", name="four", exact=True).click()
    expect(figure).to_contain_text("Four of 270 heads off")
    expect(book.run(1)).to_have_text("([0, 1, 2, 3], 0)")
    book.run(2)
    expect(figure).to_contain_text("Six of 270 heads off")
    pressed = figure.locator(".mhsa-word[aria-pressed=true]")
    expect(pressed).to_contain_text("John")
