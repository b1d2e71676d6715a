"""The sentence that asks: the page computes what PyTorch does, and says what Python says."""

from itertools import chain, combinations

import pytest
import torch
from bs4 import BeautifulSoup
from traitlets import TraitError

from mhsa_lib import examples
from mhsa_lib.widgets import SentenceLab
from mhsa_lib.widgets.sentence_lab.found import written
from tests.widgets.conftest import node

OFF = list(chain.from_iterable(combinations(range(3), n) for n in range(4)))
STATES = [(s, w, list(off)) for s in range(2) for w in range(7) for off in OFF]


def heads_in_the_page(lab):
    maps = {name: getattr(lab, name) for name in ("W_Q", "W_K", "W_V", "W_O")}
    return node("sentence_lab/attended", *(("attended", x, maps, 3) for x in lab.x))


def test_the_page_computes_weights_and_parts_as_python_does():
    found, wires = heads_in_the_page(SentenceLab()), examples.running()
    for s, heads in enumerate(found):
        weights = torch.tensor([head["weights"] for head in heads])
        parts = torch.tensor([head["part"] for head in heads])
        torch.testing.assert_close(weights, wires["weights"][s], atol=1e-5, rtol=0)
        torch.testing.assert_close(parts, written(s), atol=1e-5, rtol=0)
        torch.testing.assert_close(parts.sum(dim=0), wires["y"][s], atol=1e-5, rtol=0)


def test_the_page_says_what_python_says_in_every_state():
    lab = SentenceLab()
    seen = [
        {"words": words, "heads": heads}
        for words, heads in zip(lab.sentences, heads_in_the_page(lab), strict=True)
    ]
    calls = [("answer", seen[s], lab.columns, w, off) for s, w, off in STATES]
    said = [answer["text"] for answer in node("sentence_lab/told", *calls)]
    assert said == [SentenceLab(sentence=s, word=w, off=off).told for s, w, off in STATES]
    assert len(set(said)) >= 10


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({}, "“tired” belongs to something living: “animal”."),
        ({"sentence": 1}, "“wide” belongs to a place: “street”."),
        ({"sentence": 1, "off": [0]}, "Nobody tells “wide” whom it belongs to."),
        ({"word": 2}, "“avoided” learns who did it: “animal”."),
        ({"word": 2, "off": [2]}, "“avoided” belongs to no other word: “who is meant” finds"),
        ({"word": 4}, "“street” finds itself: a place."),
    ],
)
def test_it_says_what_a_word_finds(chosen, told):
    assert SentenceLab(**chosen).told.startswith(told)


def test_the_picture_names_where_each_head_looks_and_leaves_out_what_is_off():
    both = SentenceLab().alt
    assert "“tired”: who is meant to “animal”" in both
    assert "“wide”: who is meant to “street”" in both
    assert "who is meant" not in SentenceLab(off=[0]).alt
    assert SentenceLab(word=0, off=[0, 1, 2]).alt.endswith("tired”, no lines.")


@pytest.mark.parametrize("chosen", [{}, {"word": 3, "sentence": 1}, {"off": [0, 1, 2]}])
def test_without_scripts_the_finding_is_said_below_the_picture(chosen):
    lab = SentenceLab(**chosen)
    still = BeautifulSoup(lab.without_script(), "html.parser")
    assert still.img["alt"] == lab.alt
    assert lab.told in still.p.text
    assert ("“wide”" in still.p.text) == (lab.word == 6)  # both, where the sentences differ


@pytest.mark.parametrize(
    "chosen", [{"sentence": 2}, {"word": 7}, {"word": -1}, {"off": [3]}, {"off": ["tired"]}]
)
def test_what_does_not_exist_is_refused(chosen):
    with pytest.raises(TraitError, match=r"is not from 0 to \d"):
        SentenceLab(**chosen)
