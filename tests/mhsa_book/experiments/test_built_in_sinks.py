"""A sink takes its share of the softmax, brings nothing, and only behind the middle."""

from contextlib import nullcontext

import pytest
import torch
from torch.testing import assert_close

from mhsa_book import models
from mhsa_book.experiments import built_in_sinks as study
from mhsa_book.experiments import heads_sorted
from mhsa_lib import trace
from mhsa_lib.functional import softmax_with_sinks

TEXT = "The pen that she had lost lay on the table, and nobody had seen it there before."


@pytest.fixture(scope="module")
def lm():
    return models.load("SmolLM2-135M")


def wires_of(lm, layer):
    with torch.no_grad(), trace(lm.attention(layer)) as found:
        lm.logits(TEXT)
    return found


@torch.no_grad()
def test_the_weights_are_those_of_a_softmax_with_sinks(lm):
    numbers = torch.randn(30, 9, generator=torch.Generator().manual_seed(0))
    usual, start = wires_of(lm, 0), 8
    with study.sinks(lm, numbers, start):
        found = wires_of(lm, 0)
    # In layer 0 the scores are the usual ones, except that the first token's are the sinks.
    others = usual["scores"].clone()
    others[..., start:, 0] = -torch.inf
    later = (..., slice(start, None), slice(None))
    causal = torch.ones(1, 1, *others.shape[-2:], dtype=torch.bool).tril()
    wanted = softmax_with_sinks(others, numbers[0], causal)
    assert_close(found["weights"][later], wanted[later], atol=1e-5, rtol=1e-5)
    assert_close(found["weights"][..., :start, :], usual["weights"][..., :start, :])
    assert (found["weights"][later].sum(dim=-1) < 1).all()


@torch.no_grad()
def test_sinks_without_weight_are_a_token_thrown_out(lm):
    n = len(lm.ids(TEXT))
    with study.sinks(lm, torch.full((30, 9), -1e4), n // 2):
        found = heads_sorted.loss(lm, TEXT)
    assert found == pytest.approx(heads_sorted.loss(lm, TEXT, study.THROWN_OUT), abs=1e-3)


@torch.no_grad()
def test_mean_scores_are_those_of_the_second_half(lm):
    n = len(lm.ids(TEXT))
    wanted = wires_of(lm, 7)["scores"][..., n // 2 :, 0].mean(dim=-1)
    assert_close(study.mean_scores(lm, TEXT)[7], wanted.reshape(9), atol=1e-5, rtol=1e-5)


def test_numbers_dealt_out_are_the_same_numbers(lm, monkeypatch):
    given = []

    def remember(lm, numbers, start):
        given.append(numbers)
        return nullcontext()

    monkeypatch.setattr(study, "sinks", remember)
    numbers = torch.arange(270.0).reshape(30, 9)
    for way in (study.A_HEAD, study.DEALT, study.number(4)):
        study.loss(lm, TEXT, way, numbers)
    assert torch.equal(given[0], numbers)
    assert torch.equal(given[1].flatten().sort().values, numbers.flatten())
    assert not torch.equal(given[1], numbers)
    assert given[2].unique().tolist() == [4.0]


def made_up(**changes):
    row = dict.fromkeys(study.WAYS, 3.3) | {
        study.AS_ALWAYS: 3.0,
        study.THROWN_OUT: 5.0,
        study.DEALT: 4.0,
        study.number(0): 3.2,
        study.number(-8): 4.9,
        study.number(12): 9.0,
    }
    return {half: [row | changes] * 3 for half in heads_sorted.HALVES}


def test_the_verdicts_follow_what_was_found():
    assert study.verdicts(made_up()) == (True,) * 6
    assert study.verdicts(made_up(**{study.A_HEAD: 4.0}))[0] is False
    assert study.verdicts(made_up(**{study.DEALT: 3.3}))[1] is False
    assert study.verdicts(made_up(**{study.number(0): 3.3, study.THROWN_OUT: 3.9}))[2] is False
    assert study.verdicts(made_up(**{study.number(8): 3.1}))[3] is False
    assert study.verdicts(made_up(**{study.number(-8): 4.0}))[4] is False
    assert study.verdicts(made_up(**{study.number(12): 3.4}))[5] is False
