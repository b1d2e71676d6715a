"""A recorded pass: the numbers of a trace, and parents that are all a number depends on."""

import pytest
import torch

from mhsa_book.provenance import provenance_of
from mhsa_lib import MultiHeadAttention, edit, masks, trace
from mhsa_lib.stages import Split
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.variants.registry import STAGED

every = pytest.mark.parametrize("variant", STAGED, ids=lambda variant: variant.name)


@every
def test_its_numbers_are_those_of_a_trace(variant):
    attention, x = variant.build().double().eval(), rand(2, 12)
    provenance = provenance_of(attention, x, masks.causal)
    with trace(attention) as wires:
        attention(x, mask=masks.causal)
    assert list(provenance.wires) == list(wires)
    for name, value in provenance.wires.items():
        torch.testing.assert_close(value, wires[name])
        assert len(provenance.axes[name]) == value.ndim


@every
def test_every_number_has_its_parents_before_it(variant):
    provenance = provenance_of(variant.build(), rand(2, 12).float())
    known, chosen = {*provenance.inputs}, False
    for _, wires, _ in provenance.steps:
        for wire in wires:
            assert len(provenance.parents[wire]) == provenance.wires[wire].numel()
            places = [place for places in provenance.parents[wire] for place in places]
            assert {place[0] for place in places} <= known
            # A choice of heads is 0 or 1 and has no gradient.
            hard = {*provenance.wires[wire].flatten().tolist()} <= {0.0, 1.0}
            assert places or hard, wire
            chosen = chosen or hard
        known |= {*wires}
    used = {place[0] for every in provenance.parents.values() for one in every for place in one}
    lost = {n for n in provenance.wires if n not in used | {"y"}}
    assert not lost or chosen, lost


def test_a_query_comes_from_its_token_and_one_column():
    provenance = provenance_of(mha(4, 2), rand(3, 4))
    assert provenance.parents["q"][5] == [  # query 1, column 1
        *(("x", 1, row) for row in range(4)),
        *(("W_Q", row, 1) for row in range(4)),
    ]
    assert provenance.parents["concat"][3] == [("z", 1, 0, 1)]


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_parents_need_no_gradients_around(mode):
    attention = mha(4, 2)
    with mode():
        provenance = provenance_of(attention, rand(3, 4))
    assert provenance.parents["concat"][3] == [("z", 1, 0, 1)]
    assert provenance.parents == provenance_of(attention, rand(3, 4)).parents


def test_a_forbidden_key_is_no_parent():
    parents = provenance_of(mha(4, 2), rand(3, 4), masks.causal).parents["weights"]
    assert parents[0] == []  # query 0 sees one key: its weight is 1, whatever the score
    assert parents[4] == [("scores", 0, 1, 0), ("scores", 0, 1, 1)]


def test_zeros_do_not_hide_a_parent():
    attention = mha(4, 2)
    torch.nn.init.zeros_(attention.project.W_Q.weight)
    assert len(provenance_of(attention, torch.zeros(2, 4)).parents["q"][0]) == 8


def test_provenance_changes_nothing_and_leaves_nothing():
    attention, x = mha(4, 2), rand(3, 4)
    before = {name: value.clone() for name, value in attention.state_dict().items()}
    provenance_of(attention, x)
    assert all(torch.equal(before[n], value) for n, value in attention.state_dict().items())
    assert all(not m._forward_hooks for m in attention.modules())
    assert not x.requires_grad


def test_two_parameters_of_one_name_are_told_apart_by_their_paths():
    attention = MultiHeadAttention(4, 2)
    attention.attend.W_Q = torch.nn.Linear(2, 2)
    names = [*provenance_of(attention, rand(2, 4).float()).inputs]
    assert {"project.W_Q", "attend.W_Q", "W_Q.bias", "W_K"} <= {*names}


def test_a_stage_without_words_is_called_by_its_name():
    class Cut(Split):
        __doc__ = None

    steps = provenance_of(MultiHeadAttention(4, 2, split=Cut(2)), rand(2, 4).float()).steps
    assert steps[1] == ("split", ("q_heads", "k_heads", "v_heads"), "Cut")


def test_the_attention_of_a_model_is_recorded_and_edits_of_it_are_not():
    attention, x = mha(4, 2), rand(3, 4)
    model = torch.nn.Sequential(torch.nn.Identity(), attention)
    plain = provenance_of(model, x)
    with edit(attention, "z", torch.zeros_like):
        assert torch.equal(provenance_of(attention, x).wires["y"], plain.wires["y"])
    torch.testing.assert_close(plain.wires["y"], attention(x))


@pytest.mark.bothways
def test_one_sequence_is_recorded():
    with pytest.raises(ValueError, match=r"x has shape \(2, 3, 4\); record one sequence"):
        provenance_of(mha(4, 2), rand(2, 3, 4))
    with pytest.raises(ValueError, match="x is 5 wide"):
        provenance_of(mha(4, 2), rand(3, 5))
    with pytest.raises(ValueError, match="holds no stages of mhsa_lib"):
        provenance_of(torch.nn.Linear(4, 4), rand(3, 4))
