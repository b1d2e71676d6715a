"""The first minute: the page computes what PyTorch does, and says what Python says."""

import itertools
from itertools import chain, combinations

import matplotlib.pyplot as plt
import pytest
import torch
from bs4 import BeautifulSoup
from traitlets import TraitError

from mhsa_book import examples
from mhsa_book.widgets import SentenceLab
from mhsa_book.widgets.sentence_lab import guided_steps, sentence_lab, steps
from mhsa_book.widgets.sentence_lab.guided_steps import says
from mhsa_book.widgets.sentence_lab.question_and_answer import written
from tests.mhsa_book.widgets.conftest import node

OFF = list(chain.from_iterable(combinations(range(3), n) for n in range(4)))
STATES = [(s, w, list(off)) for s in range(2) for w in range(7) for off in OFF]


def heads_in_the_page(lab):
    maps = {name: getattr(lab, name) for name in ("W_Q", "W_K", "W_V", "W_O")}
    return node("sentence_lab/attended", *(("attended", x, maps, 3) for x in lab.x))


def test_the_page_computes_every_wire_as_python_does():
    found, wires = heads_in_the_page(SentenceLab()), examples.running()
    wanted = {"q": "q_heads", "k": "k_heads", "v": "v_heads"}
    wanted |= {name: name for name in ("scores", "weights", "z")}
    for s, heads in enumerate(found):
        for name, wire in wanted.items():
            in_page = torch.tensor([head[name] for head in heads], dtype=torch.float32)
            torch.testing.assert_close(in_page, wires[wire][s], atol=1e-5, rtol=0)
        parts = torch.tensor([head["part"] for head in heads])
        torch.testing.assert_close(parts, written(s), atol=1e-5, rtol=0)
        torch.testing.assert_close(parts.sum(dim=0), wires["y"][s], atol=1e-5, rtol=0)


def test_the_page_says_what_python_says_in_every_state():
    lab = SentenceLab()
    seen = [
        {"words": words, "heads": heads}
        for words, heads in zip(lab.sentences, heads_in_the_page(lab), strict=True)
    ]
    calls = [("answer", seen[s], lab.columns, w, off) for s, w, off in STATES]
    said = [answer["text"] for answer in node("sentence_lab/question_and_answer", *calls)]
    assert said == [
        SentenceLab(sentence=s, word=w, off=off).description for s, w, off in STATES
    ]
    assert len(set(said)) >= 10


def test_the_page_says_the_sentences_of_the_steps_that_python_says():
    lab = SentenceLab()
    words = (0, 4, len(lab.sentences[0]) - 1)
    states = [*itertools.product(range(len(lab.steps)), range(2), words)]
    lasts = [[lab.sentences[i][-1] for i in (s, 1 - s)] for _, s, _ in states]
    calls = [
        ("filled", lab.steps[step][1], *last, lab.heads[0], lab.sentences[s][w])
        for (step, s, w), last in zip(states, lasts, strict=True)
    ]
    assert node("sentence_lab/guided_steps", *calls) == [says(*state) for state in states]
    assert not any(set("{}") & set(says(*state)) for state in states)


def test_what_the_steps_say_is_so():
    x, wires = examples.sentences(), examples.running()
    assert len(lab_steps := SentenceLab().steps) == 6
    assert "Three heads" in lab_steps[1][1]
    assert "sum to 1" in lab_steps[2][1]
    assert wires["weights"].sum(dim=-1).allclose(torch.ones(2, 3, 7))
    assert "Two numbers of its row differ, living and place: so one head" in lab_steps[3][1]
    assert (x[0] != x[1]).sum(dim=-1).tolist() == [0] * 6 + [2]
    differ = (x[0, 6] != x[1, 6]).nonzero().flatten().tolist()
    assert [examples.COLUMNS[c] for c in differ] == ["living", "place"]
    q = wires["q_heads"][:, :, 6]
    assert (q[0] != q[1]).any(dim=-1).tolist() == [True, False, False]
    looked = wires["weights"][:, :, 6].argmax(dim=-1)
    assert (looked[0] != looked[1]).tolist() == [True, False, False]
    assert "nobody tells" in lab_steps[5][1]
    assert "Nobody tells" in SentenceLab(off=[0]).description


def test_a_word_that_belongs_to_nothing_rests_where_nothing_is_handed_over():
    told = [
        (s, w, SentenceLab(sentence=s, word=w).description) for s in (0, 1) for w in range(7)
    ]
    resting = [(s, w) for s, w, said in told if "rests on “the”, whose v is 0" in said]
    wires = examples.running()
    assert len(resting) == 6
    for s, w in resting:
        where = int(wires["weights"][s, 0, w].argmax())
        assert wires["v_heads"][s, 0, where].tolist() == [0] * 4


def test_a_lane_says_where_the_head_looks_and_scores_are_short():
    lab, wires = SentenceLab(), examples.running()
    heads = heads_in_the_page(lab)[0]
    seen = {"words": lab.sentences[0], "heads": heads}
    (lane,) = node("sentence_lab/lanes", ("laneSaid", seen, lab.heads[0], 0, 6))
    share = f"{wires['weights'][0, 0, 6].max():.2f}"
    assert lane == f"who is meant: “tired” gives {share} of its weights to “animal”"
    texts = node("sentence_lab/lanes", *(("scoreText", s) for s in (8, -9, 0, 2.25, -0.04)))
    assert texts == ["8", "−9", "0", "2.3", "0"]


def test_six_stills_follow_with_their_sentences_and_numbers(monkeypatch):
    drawn = []
    monkeypatch.setattr(steps, "png", lambda draw: drawn.append(draw) or "data:,")
    monkeypatch.setattr(sentence_lab, "walk_html", steps.walk_html.__wrapped__)  # draws again
    soup = BeautifulSoup(SentenceLab().html(), "html.parser")
    items = soup.select(".mhsa-stills > ol > li")
    assert [item.strong.text for item in items] == [
        f"{name}." for name, _ in guided_steps.STEPS
    ]
    assert [item.p.text for item in items] == [
        f"{name}. {says(i, 0)}" for i, (name, _) in enumerate(guided_steps.STEPS)
    ]
    assert drawn == list(steps.PICTURES)
    y = examples.running()["y"][0, 6]
    named = {n: f"{n} {v:.2f}" for n, v in zip(examples.COLUMNS, y.tolist(), strict=True)}
    with_all, without = (item.img["alt"] for item in items[4:])
    assert all(named[n] in with_all for n in ("noun", "living", "verb", "degree"))
    assert all(named[n] not in without for n in ("noun", "living"))


@pytest.mark.parametrize("draw", steps.PICTURES)
def test_a_still_is_a_picture_of_its_own(draw):
    draw()
    axes = plt.gcf().axes
    assert sum(len(ax.lines) + len(ax.patches) + len(ax.images) for ax in axes) >= 2
    plt.close()


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({}, "“tired” belongs to something living: “animal”."),
        ({"sentence": 1}, "“wide” belongs to a place: “street”."),
        ({"sentence": 1, "off": [0]}, "Nobody tells “wide” what it belongs to."),
        ({"word": 2}, "“avoided” learns who did it: “animal”."),
        ({"word": 2, "off": [2]}, "“avoided” belongs to no other word: “who is meant” rests"),
        ({"word": 4}, "“street” finds itself: a place."),
    ],
)
def test_it_says_what_a_word_finds(chosen, told):
    assert SentenceLab(**chosen).description.startswith(told)


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
    assert lab.description in still.p.text
    assert ("“wide”" in still.p.text) == (lab.word == 6)  # both, where the sentences differ


@pytest.mark.parametrize(
    "chosen",
    [{"step": 6}, {"sentence": 2}, {"word": 7}, {"word": -1}, {"off": [3]}, {"off": ["tired"]}],
)
def test_what_does_not_exist_is_refused(chosen):
    with pytest.raises(TraitError, match=r"is not from 0 to \d"):
        SentenceLab(**chosen)
