"""The first figure says on the page what Python says, in all 512 cases, and refuses others."""

import json

import matplotlib.pyplot as plt
import pytest
from bs4 import BeautifulSoup
from traitlets import TraitError

from mhsa_book.widgets import NineHeads
from mhsa_book.widgets.nine_heads.cases import chances, stored, weights
from mhsa_book.widgets.nine_heads.words import attends, name_of, outcome
from tests.mhsa_book.widgets.conftest import node
from tools import ROOT

CASES = [[k for k in range(9) if case >> k & 1] for case in range(512)]
LAST = 13


@pytest.fixture(scope="module")
def in_the_page():
    """What the page makes of the bytes that it gets."""
    state = NineHeads().html().partition('<script type="application/json">')[2]
    sent = json.loads(state.partition("</script>")[0])
    (cases,) = node("nine_heads/cases", ("decoded", sent))
    return cases


def test_every_case_has_the_numbers_of_python(in_the_page):
    found = node("nine_heads/cases", *(("chancesOf", in_the_page, off) for off in CASES[::7]))
    for off, row in zip(CASES[::7], found, strict=True):
        assert row == pytest.approx(chances(off).tolist(), abs=1e-9)
    places = [
        (k, off, query) for k in range(9) for off in CASES[::41] for query in (3, 9, LAST)
    ]
    found = node("nine_heads/cases", *(("weightsOf", in_the_page, *p) for p in places))
    for place, row in zip(places, found, strict=True):
        assert row == pytest.approx(weights(*place).tolist(), abs=1e-9), place


def test_the_page_says_what_python_says():
    words, tokens = stored()["words"], stored()["tokens"]
    calls = [("outcome", words, chances(off).tolist(), off, 270) for off in CASES]
    said = node("nine_heads/words", *calls)
    assert said == [outcome(off) for off in CASES]
    assert said == [NineHeads(off=off).description for off in CASES]
    assert len(set(said)) > 100
    places = [(k, off, q) for k in range(9) for off in CASES[::73] for q in (0, 9, LAST)]
    calls = [
        ("attends", tokens, weights(k, off, q).tolist(), name_of(k), q) for k, off, q in places
    ]
    assert node("nine_heads/words", *calls) == [attends(*place) for place in places]


def test_the_still_picture_has_the_arcs_and_the_bars_of_its_state():
    NineHeads().still()
    above, below = plt.gcf().axes
    drawn = [line for line in above.lines if len(line.get_xdata()) > 2]
    assert len(drawn) == (weights(0) >= 0.01).sum()
    assert [bar.get_width() for bar in below.patches] == pytest.approx(chances().tolist())
    assert {line.get_linestyle() for line in drawn} == {"-"}
    plt.close()
    NineHeads(off=[0, 1]).still()
    above, below = plt.gcf().axes
    assert [bar.get_width() for bar in below.patches] == pytest.approx(chances([0, 1]).tolist())
    assert ":" in {line.get_linestyle() for line in above.lines}
    plt.close()


@pytest.mark.parametrize("chosen", [{}, {"off": [0, 1, 2, 3], "head": 7}, {"word": 9}])
def test_without_scripts_the_answer_stands_below_the_picture(chosen):
    nine = NineHeads(**chosen)
    still = BeautifulSoup(nine.without_script(), "html.parser")
    assert still.img["alt"] == nine.alt
    assert nine.description in nine.alt
    assert nine.description in still.p.text
    assert "store, John gave a drink to" in nine.alt
    assert "Apache 2.0" in still.p.text


@pytest.mark.parametrize(
    "chosen", [{"off": [9]}, {"off": [-1]}, {"off": ["L23H3"]}, {"head": 9}, {"word": 14}]
)
def test_what_does_not_exist_is_refused(chosen):
    with pytest.raises(TraitError, match=r"is not from 0 to \d"):
        NineHeads(**chosen)


def test_a_head_that_is_named_twice_is_off_once():
    assert NineHeads(off=[2, 0, 2]).description == NineHeads(off=[0, 2]).description


def test_the_first_page_tells_the_numbers_of_its_figure():
    told = (ROOT / "book" / "intro.md").read_text(encoding="utf-8")
    six, without = chances([0, 1, 2, 3, 4, 5]), chances([7])
    assert "Switch off all six" in told
    assert f"from {chances()[0]:.0%} to {six[0]:.0%}".replace("%", " %") in told
    assert six[1] > six[0]
    assert f"without it she rises to {without[0]:.0%}".replace("%", " %") in told
    to_mary = [weights(k)[1] for k in range(9)]
    assert name_of(to_mary.index(max(to_mary))) == "L24H4"
    lead = told.partition("\n# ")[2]
    assert lead.index("nine_heads.html") < lead.index("sentence_lab.html")
