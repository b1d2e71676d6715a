"""A function under sliders: what is stored, what is called again, and what is refused."""

import json
import re

import ipywidgets
import matplotlib.pyplot as plt
import pytest
from bs4 import BeautifulSoup
from nbval.plugin import get_sanitize_patterns
from traitlets import TraitError

from mhsa_book.widgets import Interact
from mhsa_book.widgets import figure as base
from tests.mhsa_book.widgets.conftest import node
from tools.check.compare import SANITIZE


def times(a, b):
    print(f"{a} times {b}")
    return a * b


def test_outputs_are_stored_in_the_order_of_the_lists_the_last_one_fastest():
    stored = Interact(times, a=[2, 3], b=[5, 7, 11]).outputs
    assert [one["text"].splitlines() for one in stored] == [
        [f"{a} times {b}", f"{a * b}"] for a in (2, 3) for b in (5, 7, 11)
    ]


def test_the_page_finds_the_output_that_python_has_stored():
    sizes = [3, 4]
    ((places),) = node("interact/interact", ("everyPlace", sizes))
    assert places == [[i, k] for i in range(3) for k in range(4)]
    found = node("interact/interact", *(("placeOf", place, sizes) for place in places))
    assert found == list(range(12))


def test_what_a_function_says_is_text_and_no_tag():
    figure = Interact(lambda tag: f"<{tag}> & </script>", tag=["b", "<i>"])
    soup = BeautifulSoup(figure.html(), "html.parser")
    assert [pre.text for pre in soup.select("noscript pre")] == [
        "<b> & </script>",
        "<<i>> & </script>",
    ]
    assert [s.text for s in soup.select("noscript summary")] == ["tag = b", "tag = <i>"]
    assert soup.find("b") is None
    state = json.loads(soup.select_one("script[type='application/json']").string)
    assert state["values"] == [["b", "<i>"]]


# --- pictures --------------------------------------------------------------------------------


def line(n):
    plt.figure(figsize=(2, 1))
    plt.plot(range(n))


def test_a_picture_is_stored_with_its_words_and_closed():
    before = plt.get_fignums()
    first, second = Interact(line, n=[2, 3], alt="A line over {n} points.").outputs
    assert (first["alt"], second["alt"]) == ("A line over 2 points.", "A line over 3 points.")
    assert first["pictures"][0].startswith("data:image/png;base64,")
    assert first["pictures"] != second["pictures"]
    assert plt.get_fignums() == before


def test_a_picture_without_words_is_refused_and_closed():
    with pytest.raises(ValueError, match=r'no words say what it shows; pass alt="…", in'):
        Interact(line, n=[2, 3])
    assert plt.get_fignums() == []


def compared(html):
    """What is left of an output for nbval to compare."""
    patterns = get_sanitize_patterns(SANITIZE.read_text(encoding="utf-8"))
    for pattern, replacement in patterns:
        html = re.sub(pattern, replacement, html)
    return html


def test_words_are_compared_and_the_bytes_of_pictures_are_not(monkeypatch):
    def html(digits, word="points"):
        monkeypatch.setattr(
            "mhsa_book.widgets.interact.stored.picture",
            lambda number: f"data:image/png;base64,{digits}",
        )
        return compared(Interact(line, n=[2, 3], alt=f"A line over {{n}} {word}.").html())

    assert html("iVBO/+8=") == html("Rw0K")
    assert html("iVBO", "points") != html("iVBO", "places")


# --- with a kernel ---------------------------------------------------------------------------


def test_moving_a_slider_of_ipywidgets_calls_the_function_again():
    called = []
    figure = Interact(lambda n: called.append(n) or f"n is {n}", n=[10, 20, 30])
    slider, place = figure.live().children
    assert isinstance(slider, ipywidgets.SelectionSlider)
    assert (slider.description, [text for text, _ in slider.options]) == (
        "n",
        ["10", "20", "30"],
    )
    called.clear()
    slider.value = 2
    assert called == [30]
    assert "n is 30" in place.value
    assert figure.at == [2]


def test_setting_at_moves_the_slider():
    figure = Interact(times, a=[2, 3], b=[5, 7])
    *sliders, place = figure.live().children
    figure.at = [1, 1]
    assert [slider.value for slider in sliders] == [1, 1]
    assert "3 times 7" in place.value


def test_the_notebook_shows_ipywidgets_and_the_page_the_twin(monkeypatch):
    figure = Interact(times, a=[2, 3], b=[5, 7])
    monkeypatch.setattr(base, "png", lambda draw: "data:,")
    data, _ = figure._repr_mimebundle_()
    shown = data["application/vnd.jupyter.widget-view+json"]["model_id"]
    assert shown != figure.model_id
    assert data["text/plain"] == "Interact(a=[2, 3], b=[5, 7])"


# --- mistakes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({}, r"0 lists of settings; pass one or two, as in n_heads=\[1, 2, 4\]"),
        ({"a": [1, 2], "b": [1, 2], "c": [1, 2]}, "3 lists of settings; pass one or two"),
        ({"a": range(13)}, "13 = 13 settings are more than the 12 .*; leave out values of a"),
        ({"a": range(7), "b": [1, 2]}, r"7 · 2 = 14 settings are more .* values of a or b\."),
        ({"a": [1]}, r"a=\[1\] is not a choice; give two or more different values"),
        ({"a": [1, 1.0, "1"]}, r"is not a choice; give two or more different values"),
    ],
)
def test_a_wrong_choice_is_named_with_a_repair(choices, words):
    with pytest.raises(ValueError, match=words):
        Interact(print, **choices)


@pytest.mark.parametrize("at", [[], [0, 0], [3], [-1], [0.5], [True]])
def test_a_position_outside_the_list_is_refused(at):
    figure = Interact(str, object=[1, 2, 3])
    with pytest.raises(TraitError, match=r"holds no position in lists of \[3\]; count from 0"):
        figure.at = at
