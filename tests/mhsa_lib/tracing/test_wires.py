"""A trace records the named values of the last pass, each the tensor itself."""

import weakref

import pytest
import torch
from torch.testing import assert_close

from mhsa_book import costs
from mhsa_lib import MultiHeadAttention, trace
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.tracing.names import NAMES


def test_wires_come_in_the_order_of_computation():
    with trace(mha()) as wires:
        pass
    assert list(wires) == []
    attention = mha()
    with trace(attention) as wires:
        y = attention(rand(2, 5, 12))
    assert list(wires) == NAMES
    assert wires["y"] is y


def test_a_recorded_wire_is_the_tensor_itself():
    attention, x = mha(), rand(2, 5, 12)
    seen = {}
    attention.attend.weights.register_forward_hook(lambda m, args, out: seen.update(w=out))
    with trace(attention) as wires:
        attention(x)
    assert wires["weights"] is seen["w"]
    assert wires.inputs == {"x": x}


def test_gradients_reach_recorded_wires():
    attention, x = mha(), rand(2, 5, 12)
    with trace(attention) as wires:
        y = attention(x)
    for wire in wires.values():
        wire.retain_grad()
    y.square().sum().backward()
    assert all(wire.grad is not None for wire in wires.values())
    dz = wires["z"].grad
    assert_close(wires["weights"].grad, dz @ wires["v_heads"].mT)


def test_a_loss_may_be_made_of_a_wire():
    attention, x = mha(), rand(5, 12)
    with trace(attention) as wires:
        attention(x)
    wires["weights"][0, 0, 0].backward()
    assert attention.project.W_Q.weight.grad.abs().sum() > 0
    assert attention.W_O.weight.grad is None


def test_a_second_pass_replaces_the_first():
    attention = mha()
    with trace(attention) as wires:
        attention(rand(2, 5, 12))
        attention(rand(7, 12), rand(3, 12))
    assert list(wires) == NAMES
    assert wires["weights"].shape == (3, 7, 3)
    assert set(wires.inputs) == {"x", "context"}
    assert wires.flops == sum(costs.flops(7, 12, 3, n_key=3).values())


def test_a_second_pass_that_fails_leaves_nothing_of_the_first():
    attention, x = mha(), rand(2, 5, 12)
    with trace(attention) as wires:
        attention(x)
        with pytest.raises(TypeError, match="bool"):
            attention(x, mask=torch.ones(5, 5))
    assert list(wires) == list(wires.steps) == NAMES[:7]


def test_a_single_stage_knows_all_that_came_in():
    mha, x = MultiHeadAttention(12, 3), torch.randn(6, 12)
    rows = mha.project(x, x)
    with trace(mha.split) as wires:
        mha.split(*rows)
    assert list(wires.inputs) == ["q", "k", "v"]
    assert {step.result for step in wires.steps.values()} == {"view"}


def test_an_unknown_wire_is_told_from_those_there_are():
    attention = mha()
    with trace(attention) as wires:
        with pytest.raises(KeyError, match="it has none yet: run a forward pass"):
            wires["weights"]
        attention(rand(5, 12))
    with pytest.raises(
        KeyError, match="no wire 'wieghts' in MultiHeadAttention; it has q, k, v"
    ):
        wires["wieghts"]


def test_the_table_has_a_line_per_wire():
    attention = mha()
    with trace(attention) as wires:
        attention(rand(2, 5, 12))
    lines = repr(wires).splitlines()
    assert lines[0].split() == ["wire", "axes", "stride", "result", "bytes", "FLOPs"]
    assert [line.split()[0] for line in lines[1:]] == NAMES
    assert "batch 2, head 3, query 5, key 5" in lines[7]
    assert lines[7].split()[-4:] == ["new", "memory", "1,200", "1,200"]


def test_a_long_block_keeps_no_tensor_that_is_no_wire():
    attention, kept = mha(), []
    with trace(attention) as wires:
        for _ in range(3):
            x = attention(rand(2, 5, 12)) * 2
            kept.append(weakref.ref(x))
            del x
        assert [ref() for ref in kept] == [None] * 3
        with pytest.raises(TypeError, match="bool"):
            attention(rand(2, 5, 12), mask=torch.ones(5, 5))
        doubled = rand(2, 5, 12) * 2
        later = weakref.ref(doubled)
        del doubled
        assert later() is None
    assert list(wires) == NAMES[:7]
