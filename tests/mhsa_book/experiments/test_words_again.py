"""Sets of heads follow the scores that choose; a patch of one wire leaves the others alone."""

import random

import pytest
import torch
from torch.testing import assert_close

from mhsa_book import models
from mhsa_book.experiments import words_again as again
from mhsa_book.models import words_twice
from mhsa_lib import trace

pytestmark = pytest.mark.nohook  # 30 layers a pass; tests of small models check shapes


@pytest.fixture(scope="module")
def lm():
    return models.load("SmolLM2-135M")


def scores():
    """Nine heads of 30 layers: five induct, two look one back, and the rest do nothing."""
    induction, previous = torch.zeros(30, 9), torch.zeros(30, 9)
    for place, head in enumerate([(18, 6), (17, 4), (17, 3), (18, 7), (23, 2)]):
        induction[head] = 0.9 - place / 10
    previous[16, 0] = previous[11, 1] = 0.9
    return {"induction": induction.tolist(), "previous": previous.tolist()}


def test_the_sets_are_what_the_scores_say():
    sets = again.sets(scores())
    assert sets[again.FOUR] == [(18, 6), (17, 4), (17, 3), (18, 7)]
    assert len(sets[again.EIGHT]) == 8
    assert sets["L16H0"] == [(16, 0)]
    assert sets["L11H1"] == [(11, 1)]
    drawn = {name: heads for name, heads in sets.items() if " " in name}
    assert len(drawn) == 6
    named = {*sets[again.FOUR], (23, 2), (16, 0), (11, 1)}
    for name, heads in drawn.items():
        assert len({*heads}) == 4
        assert not {*heads} & named
        if name.startswith("same"):
            assert [layer for layer, _ in heads] == [17, 17, 18, 18]


def test_the_score_is_the_weight_on_what_followed_the_first_time():
    weights = torch.zeros(1, 2, 2 * again.N, 2 * again.N)
    for query in range(again.N, 2 * again.N):
        weights[0, 0, query, query - again.N + 1] = 1  # what followed
        weights[0, 1, query, query - again.N] = 1  # the word itself
    assert_close(again.induction_scores(weights), torch.tensor([[1.0, 0.0]]))


@torch.no_grad()
def test_only_the_named_wire_of_later_layers_is_another(lm):
    text = words_twice.twice(lm, random.Random(0).randrange(100), 6)
    over = ["".join(words_twice.words(lm, 12, 300))]

    def wires(layer):
        with trace(lm.attention(layer)) as found:
            lm.logits(text)
        return {name: found[name].clone() for name in "qkv"}

    before = {layer: wires(layer) for layer in (16, 17)}
    with lm.without([again.WRITER], "mean", over):
        off = wires(17)
    with again.reading_without(lm, text, again.WRITER, "k", over):
        patched = {layer: wires(layer) for layer in (16, 17)}
    for name in "qkv":
        assert_close(patched[16][name], before[16][name])
    for name in "qv":
        assert_close(patched[17][name], before[17][name])
    assert_close(patched[17]["k"], off["k"])
    assert not torch.allclose(patched[17]["k"], before[17]["k"])
