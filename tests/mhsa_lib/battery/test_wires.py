"""What the wires of every attention in stages must pass."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book.difference import Difference
from mhsa_lib import edit, trace
from tests.helpers.drawn import rand
from tests.mhsa_lib.variants.registry import staged


@staged
def test_tracing_changes_nothing_and_leaves_nothing(variant, attention):
    x = rand(2, 6, 12)
    before = attention(x)
    with trace(attention):
        assert torch.equal(attention(x), before)
    assert all(not m._forward_hooks and not m._forward_pre_hooks for m in attention.modules())


@staged
@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_one_set_of_axis_sizes_explains_every_wire(variant, attention, batch):
    with trace(attention) as wires:
        attention(rand(*batch, 4, 12), rand(*batch, 6, 12))
    sizes = wires.sizes
    assert (sizes["query"], sizes["key"], sizes["d_model"]) == (4, 6, 12)
    for name, step in wires.steps.items():
        flat = [
            n
            for size in step.axes.values()
            for n in (size if isinstance(size, tuple) else [size])
        ]
        assert tuple(flat) == wires[name].shape
        assert all(sizes[axis] == size for axis, size in step.axes.items())


@staged
def test_weights_are_distributions_also_in_training(variant, attention):
    attention.attend.dropout.p = 0.5
    with trace(attention.train()) as wires:
        attention(rand(2, 6, 12))
    sums = wires["weights"].sum(dim=-1)
    if variant.distributes:
        assert_close(sums, torch.ones_like(sums))
    else:
        assert ((sums > 0) & (sums < 1)).all()


@staged
def test_every_wire_matters(variant, attention):
    x = rand(2, 6, 12)
    before = attention(x)
    with trace(attention) as wires:
        attention(x)
    for wire in list(wires):
        with edit(attention, wire, torch.zeros_like):
            assert not torch.allclose(attention(x), before), wire


@staged
def test_at_most_one_line_of_the_forward_pass_differs(variant, attention):
    changed = Difference(attention).changed_lines
    assert len(changed) <= 1
    assert all("# <- the idea" in line for line in changed)
