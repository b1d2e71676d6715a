"""Chapter 18: what is said about caches that fit, pairs of columns, and rounding."""

from copy import deepcopy

import pytest
import torch

from mhsa_book import examples
from mhsa_book.conversions import pairing
from mhsa_book.exercises import check
from mhsa_lib import MultiHeadAttention, rope


def made():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return MultiHeadAttention(12, 3, split=rope.RotarySplit(3, rope.Rotary(4))).double()


def renamed(*names):
    """A layer that turns halves, with the reordered rows of some projections only."""
    meta = made()
    theirs, good = deepcopy(meta), pairing.with_pairing(meta, rope.HALVES)
    theirs.split.rotary.pairing = rope.HALVES
    for name in names:
        getattr(theirs.project, name).weight.data = getattr(good.project, name).weight.data
    return meta, theirs


def test_34_sequences_fit():
    assert check("sequences_that_fit", 60 * 2**30 // (28 * 2 * 4 * 128 * 2 * 32_768))
    assert check("sequences_that_fit", 34.0)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (60 * 2**30 / (28 * 2 * 4 * 128 * 2 * 32_768), "whole ones"),
        (35, "61.25 GiB"),
        (60 * 2**30 // (28 * 4 * 128 * 2 * 32_768), "a key and a value"),
        (60 * 2**30 // (28 * 2 * 4 * 128 * 4 * 32_768), "2 bytes"),
        (60 * 2**30 // (28 * 2 * 28 * 128 * 2 * 32_768), "Only 4 of the heads"),
        (60 * 2**30 // (2 * 4 * 128 * 2 * 32_768), "one layer of 28"),
        (60 * 10**9 // (28 * 2 * 4 * 128 * 2 * 32_768), "2³⁰"),
        (None, "None is not it"),
        ("34", "'34' is not it"),
        (torch.ones(2), "is not it"),
    ],
)
def test_another_number_hears_what_was_forgotten(answer, said):
    assert said in check("sequences_that_fit", answer).text


def test_reordered_rows_are_right_in_either_precision():
    meta = made()
    assert check("other_pairing", (meta, pairing.with_pairing(meta, rope.HALVES)))
    assert check("other_pairing", (meta, pairing.with_pairing(meta, rope.HALVES).float()))
    assert check("other_pairing", renamed("W_Q", "W_K"))


def test_the_layers_that_are_handed_in_stay_as_they_are():
    meta, theirs = renamed("W_Q", "W_K")
    before = deepcopy(meta.state_dict())
    check("other_pairing", (meta, theirs.float()))
    assert meta.W_O.weight.dtype == torch.float64
    assert all(torch.equal(before[name], value) for name, value in meta.state_dict().items())


def test_the_same_numbers_or_half_of_the_rows_are_told_apart():
    assert "with the same numbers" in check("other_pairing", renamed()).text
    assert "W_Q is as it was" in check("other_pairing", renamed("W_K")).text
    assert "W_K is as it was" in check("other_pairing", renamed("W_Q")).text


def test_a_layer_that_turns_as_before_or_is_the_same_one_is_said():
    meta = made()
    assert "meta itself" in check("other_pairing", (meta, meta)).text
    assert "still turns" in check("other_pairing", (meta, deepcopy(meta))).text
    meta.split.rotary.pairing = rope.HALVES
    assert "meta has changed" in check("other_pairing", (meta, deepcopy(meta))).text


def test_values_and_the_order_of_heads_stay():
    meta, theirs = renamed("W_Q", "W_K")
    theirs.project.W_V.weight.data = theirs.project.W_V.weight.data.flip(0)
    assert "W_V has changed" in check("other_pairing", (meta, theirs)).text
    meta, theirs = renamed()
    for W in (theirs.project.W_Q, theirs.project.W_K):  # over all columns, not in each head
        W.weight.data = rope.reordered(W.weight.data.mT, rope.INTERLEAVED, rope.HALVES).mT
    assert "inside every head" in check("other_pairing", (meta, theirs)).text


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "Hand over both"),
        (made(), "Hand over both"),
        ("ab", "Hand over both"),
        ((made(), None), "theirs is a NoneType"),
        ((made(), made), "theirs is a function"),
        ((examples.attention(), made()), "meta turns no columns"),
    ],
)
def test_what_is_no_pair_of_layers_is_said(answer, said):
    assert said in check("other_pairing", answer).text


def steps_of(n):
    def rounded(t):
        step = t.abs().max() / n
        return (t / step).round() * step

    return rounded


def from_least_to_most(t):
    step = (t.max() - t.min()) / 255
    return ((t - t.min()) / step).round() * step + t.min()


@pytest.mark.parametrize("rounded", [steps_of(127), from_least_to_most])
def test_256_steps_from_end_to_end_are_right_and_hear_the_change(rounded):
    said = check("rounded", rounded)
    assert said
    assert "The output changes by" in said.text
    assert check("rounded", steps_of(127)).text != check("rounded", steps_of(31)).text


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda t: t, "one byte can tell 256 apart"),
        (lambda t: t.round(decimals=4), "one byte can tell 256 apart"),
        (steps_of(200), "one byte can tell 256 apart"),
        (torch.round, "the output changes by"),
        (torch.zeros_like, "With 1 different numbers the output changes by 100%"),
        (lambda t: t * torch.nan, "rounded returns NaN"),
        (lambda t: (t / t.abs().max() * 127).round(), "the output changes by"),
        (lambda t: None, "returns a NoneType"),
        (lambda t: t[0], "Trying it raises"),
        (lambda t: 1 / 0, "Trying it raises ZeroDivisionError"),
        (None, "Hand over a function"),
        (torch.ones(2), "Hand over a function"),
    ],
)
def test_other_roundings_hear_how_far_they_are(answer, said):
    assert said in check("rounded", answer).text
