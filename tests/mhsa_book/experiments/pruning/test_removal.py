"""Heads that are removed are gone, and what is left computes what they would leave at zero."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book.examples import language
from mhsa_book.experiments.pruning import gates
from mhsa_book.experiments.pruning.removal import Headless, counts, paths, removed, shaped
from mhsa_book.experiments.training import n_parameters
from mhsa_book.experiments.translation import Head, heads_of, without
from mhsa_book.transformer import shifted
from mhsa_lib import MultiHeadAttention
from tests.mhsa_book.experiments.translation.small import PAIRS, model

MODEL = model().double()
HEADS = heads_of(MODEL)
SOURCE, TARGET = language.batch(PAIRS)
GIVEN, _ = shifted(TARGET)
KEEPS = {
    "one of each attention": HEADS[::2],
    "an attention whole, another gone": HEADS[2:5],
    "one head": HEADS[-1:],
    "none": (),
}


@pytest.mark.parametrize("keep", KEEPS.values(), ids=KEEPS)
def test_without_heads_it_computes_what_the_whole_does_with_their_z_at_zero(keep):
    few = removed(MODEL, keep)
    with without(MODEL, set(HEADS) - set(keep)):
        assert_close(few(SOURCE, GIVEN), MODEL(SOURCE, GIVEN), atol=1e-9, rtol=0)
    assert len(heads_of(few)) == len(keep)


def test_rows_and_columns_are_gone_and_what_is_left_can_be_trained():
    few = removed(MODEL, HEADS[::2])
    d_model, d_head = 12, 6
    assert n_parameters(MODEL) - n_parameters(few) == 6 * 4 * d_model * d_head
    assert all(parameter.requires_grad for parameter in few.parameters())
    assert not any(parameter.requires_grad for parameter in MODEL.parameters())


def test_an_attention_without_heads_adds_its_bias_alone():
    x, attention = torch.randn(2, 5, 12), MultiHeadAttention(12, 3, bias=True)
    assert_close(Headless(attention)(x), attention.W_O.bias.expand_as(x))
    assert len([*Headless(attention).parameters()]) == 1
    assert not Headless(MultiHeadAttention(12, 3))(x).any()


def test_closed_gates_are_removed_with_equal_output():
    with_gates = gates.gated(MODEL).eval()
    for place, path in enumerate(paths(MODEL)):
        log_alpha = with_gates.get_submodule(path).gate.log_alpha
        log_alpha.data = torch.tensor([-3.0, -3.0] if place == 2 else [0.5, -3.0])
    left = gates.opened(with_gates)
    assert [head.head for head in left] == [0] * 5
    small = gates.ungated(with_gates, left)
    assert_close(small(SOURCE, GIVEN), with_gates(SOURCE, GIVEN), atol=1e-9, rtol=0)
    assert len(heads_of(small)) == 5


def test_a_closed_head_that_has_to_stay_begins_with_columns_of_zeros():
    with_gates = gates.gated(MODEL).eval()
    attention = with_gates.get_submodule(HEADS[0].path)
    attention.gate.log_alpha.data[0] = -3.0
    small = gates.ungated(with_gates, HEADS)
    W_O = small.get_submodule(HEADS[0].path).W_O.weight
    assert not W_O[:, :6].any()
    assert W_O[:, 6:].any()


def test_open_gates_change_nothing():
    with_gates = gates.gated(MODEL).eval()
    assert_close(with_gates(SOURCE, GIVEN), MODEL(SOURCE, GIVEN))
    assert [*gates.gates_of(with_gates)] == [*HEADS]


def test_a_shape_is_that_of_what_was_cut():
    keep = [Head("cross-attention", 1, 3), Head("cross-attention", 1, 0)]
    keep.append(Head("decoder self-attention", 0, 2))
    fresh = shaped(counts(keep), seed=3)
    cut = removed(shaped(dict.fromkeys(paths(fresh), 4), seed=3), keep)
    assert [p.shape for p in fresh.parameters()] == [p.shape for p in cut.parameters()]
    again = shaped(counts(keep), seed=3)
    assert torch.equal(fresh(SOURCE, GIVEN), again(SOURCE, GIVEN))
    other = shaped(counts(keep), seed=4)
    for path in counts(keep):
        ours, theirs = (model.get_submodule(path).W_O.weight for model in (fresh, other))
        assert not torch.equal(ours, theirs)


@pytest.mark.bothways
@pytest.mark.parametrize("keep", [[*HEADS[:1], HEADS[0]], [Head("cross-attention", 2, 0)]])
def test_a_head_named_twice_or_not_there_is_refused(keep):
    with pytest.raises(ValueError, match=r"keep names .* times; the model has \(encoder L0H0"):
        removed(MODEL, keep)
