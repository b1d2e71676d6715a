"""The note is missing for the readers that are named, and no other head's work changes."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book import models
from mhsa_book.experiments import direct_paths as direct
from mhsa_book.models import words_twice
from mhsa_lib import trace

pytestmark = pytest.mark.nohook  # 30 layers a pass; tests of small models check shapes


@pytest.fixture(scope="module")
def lm():
    return models.load("SmolLM2-135M")


@pytest.fixture(scope="module")
def text(lm):
    return words_twice.twice(lm, 31, 6)


@pytest.fixture(scope="module")
def over(lm):
    return ["".join(words_twice.words(lm, 12, seed)) for seed in (300, 301)]


@torch.no_grad()
def wires(lm, text, layer):
    with trace(lm.attention(layer)) as found:
        lm.logits(text)
    return {name: found[name].clone() for name in "qkv"}


def test_the_next_layer_reads_what_it_reads_when_the_head_is_off(lm, text, over):
    """No other head is in between. Behind it there is one, which is held as it was."""
    new = direct.without_note(lm, text, over)
    with lm.without([direct.WRITER], "mean", over):
        off = {layer: wires(lm, text, layer) for layer in (17, 18)}
    for wire in "qkv":
        assert_close(new[17][wire], off[17][wire], atol=1e-3, rtol=1e-3)
        assert (new[18][wire] - off[18][wire]).abs().max() > 0.1


def test_if_the_note_is_what_it_was_nothing_changes(lm, text, over, monkeypatch):
    own = lm.heads(text)[direct.WRITER]
    usual = {layer: wires(lm, text, layer) for layer in (17, 29)}
    monkeypatch.setattr(direct, "usual_note", lambda lm, over: own)
    new = direct.without_note(lm, text, over)
    for layer, found in usual.items():
        for wire in "qkv":
            assert_close(new[layer][wire], found[wire], atol=1e-3, rtol=1e-3)


def test_only_the_heads_that_are_named_read_the_other_wire(lm, text, over):
    usual = wires(lm, text, 17)
    named = {"q": [3, 4, 5], "k": [1], "v": [1]}
    for wire, places in named.items():
        with direct.reading(lm, text, wire, over, direct.GROUPS):
            changed = wires(lm, text, 17)
        for other in "qkv":
            apart = (changed[other] - usual[other]).unflatten(-1, (-1, 64)).abs()
            apart = apart.amax(dim=(0, 1, 3)) > 1e-3
            assert apart.nonzero().flatten().tolist() == (places if other == wire else [])


def made_up(k=4.0, q=0.5, v=0.5, groups=4.0, scores=(0.2, 0.7, 0.7)):
    found = {"on": [[13.0, 3.0, 0.5, 0.8]], "off": [[13.0, 8.0, 0.1, 0.1]]}
    by_readers = {direct.ALL: (q, k, v), direct.GROUPS: (0.1, groups, 0.1)}
    for readers, losses in by_readers.items():
        of_wires = zip("qkv", losses, (scores[1], scores[0], scores[2]), strict=True)
        for wire, lost, score in of_wires:
            found[direct.name((readers, wire))] = [[13.0, 3.0 + lost, 0.2, score]]
    return {part: 2 * each for part, each in found.items()}


def test_the_verdicts_follow_what_was_found():
    assert direct.verdicts(made_up()) == (True,) * 5
    assert direct.verdicts(made_up(k=2.0))[0] is False
    assert direct.verdicts(made_up(q=1.5))[1] is False
    assert direct.verdicts(made_up(v=1.5))[2] is False
    assert direct.verdicts(made_up(groups=2.0))[3] is False
    assert direct.verdicts(made_up(scores=(0.5, 0.7, 0.7)))[4] is False
    assert direct.verdicts(made_up(scores=(0.2, 0.5, 0.7)))[4] is False
