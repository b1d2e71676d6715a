"""An edit replaces one wire of every pass in its block, and the rest follows."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_lib import edit, trace
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.tracing.attached import hooks
from tests.mhsa_lib.tracing.names import NAMES


@pytest.mark.parametrize("wire", NAMES)
def test_every_wire_can_be_cut_and_heals_on_exit(wire):
    attention, x = mha(bias=True), rand(2, 5, 12)
    before = attention(x)
    with edit(attention, wire, torch.zeros_like):
        assert not torch.allclose(attention(x), before)
    assert torch.equal(attention(x), before)


@pytest.mark.parametrize("wire", NAMES)
def test_an_edit_that_changes_nothing_changes_nothing(wire):
    attention, x = mha(), rand(2, 5, 12)
    before = attention(x)
    with edit(attention, wire, lambda value: value.clone()):
        assert torch.equal(attention(x), before)


def test_an_edit_touches_its_own_wire_only():
    attention, x = mha(), rand(5, 12)
    with edit(attention, "k", torch.zeros_like), trace(attention) as wires:
        attention(x)
    assert_close(wires["q"], attention.project.W_Q(x))
    assert (wires["k"] == 0).all()
    assert_close(wires["v"], attention.project.W_V(x))


def test_a_trace_inside_or_around_an_edit_sees_the_edited_value():
    attention, x = mha(), rand(2, 5, 12)
    with edit(attention, "weights", torch.zeros_like), trace(attention) as inside:
        attention(x)
    with trace(attention) as around, edit(attention, "weights", torch.zeros_like):
        attention(x)
    assert (inside["weights"] == 0).all()
    assert (around["weights"] == 0).all()
    assert list(inside) == list(around) == NAMES


def test_of_two_edits_of_one_wire_the_inner_acts_first():
    attention, x = mha(), rand(5, 12)
    with trace(attention) as plain:
        attention(x)
    with (
        trace(attention) as wires,
        edit(attention, "y", lambda y: 2 * y),
        edit(attention, "y", lambda y: y + 1),
    ):
        attention(x)
    assert_close(wires["y"], 2 * (plain["y"] + 1))


def test_patching_a_wire_of_one_run_into_another_gives_the_other_output():
    attention, x, other = mha(), rand(5, 12), rand(5, 12)
    with trace(attention) as wires:
        expected = attention(other)
    with edit(attention, "z", lambda z: wires["z"]):
        assert torch.equal(attention(x), expected)


def test_gradients_flow_through_an_edit():
    attention, x = mha(), rand(5, 12).requires_grad_()
    (plain,) = torch.autograd.grad(attention(x).sum(), x)
    with edit(attention, "y", lambda y: 3 * y):
        (edited,) = torch.autograd.grad(attention(x).sum(), x)
    assert_close(edited, 3 * plain)


def test_an_unknown_wire_cannot_be_edited():
    attention = mha()
    words = r"no single wire 'wieghts' in MultiHeadAttention; it has \['concat', 'k', .*'z'\]"
    with pytest.raises(KeyError, match=words), edit(attention, "wieghts", torch.zeros_like):
        pass


def test_an_edit_keeps_shape_and_dtype():
    attention, x = mha(), rand(5, 12)
    for change, error, words in (
        (lambda z: z[..., :1], ValueError, r"returned \(3, 5, 1\) .*must keep \(3, 5, 4\)"),
        (lambda z: z.float(), ValueError, r"torch\.float32; it must keep .* torch\.float64"),
        (lambda z: None, TypeError, "the change of wire 'z' returned NoneType, not a tensor"),
    ):
        with pytest.raises(error, match=words), edit(attention, "z", change):
            attention(x)
    assert hooks(attention) == 0
