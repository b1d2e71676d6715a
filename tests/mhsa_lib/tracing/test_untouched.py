"""A trace changes no bit of a pass and leaves no hook in the module."""

import pytest
import torch
from hypothesis import given

from mhsa_lib import edit, masks, trace
from tests.helpers.drawn import cases, mha, rand
from tests.mhsa_lib.tracing.attached import hooks


@given(cases())
def test_tracing_changes_no_bit(case):
    before = case.attention(*case.inputs)
    with trace(case.attention):
        during = case.attention(*case.inputs)
    assert torch.equal(before, during)
    assert torch.equal(case.attention(*case.inputs), before)


def test_tracing_changes_no_bit_in_training_with_dropout():
    attention, x = mha(dropout=0.5).train(), rand(2, 5, 12)
    torch.manual_seed(1)
    before = attention(x, mask=masks.causal)
    torch.manual_seed(1)
    with trace(attention):
        assert torch.equal(attention(x, mask=masks.causal), before)


def test_hooks_are_gone_on_exit():
    attention, x = mha(), rand(5, 12)
    with trace(attention) as wires, edit(attention, "z", torch.zeros_like):
        assert hooks(attention) > 0
        attention(x)
    assert hooks(attention) == 0
    recorded = dict(wires)
    attention(x + 1)
    assert all(wires[name] is recorded[name] for name in recorded)


def test_hooks_are_gone_after_an_exception():
    attention, x = mha(), rand(5, 12)
    with (
        pytest.raises(ZeroDivisionError),
        trace(attention),
        edit(attention, "z", lambda z: 1 // 0),
    ):
        attention(x)
    assert hooks(attention) == 0
    with pytest.raises(TypeError, match="bool"), trace(attention):
        attention(x, mask=torch.ones(5, 5))
    assert hooks(attention) == 0


def test_hooks_of_others_stay():
    attention, seen = mha(), []
    attention.attend.register_forward_hook(lambda *_: seen.append(1))
    with trace(attention), edit(attention, "z", torch.abs):
        attention(rand(5, 12))
    attention(rand(5, 12))
    assert seen == [1, 1]
