"""Where there is nothing to look at, shapes, outputs and gradients are still right."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_lib import masks
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.fused.pairs import both, fuse


@pytest.mark.parametrize("shape", [(0, 5, 12), (2, 0, 5, 12), (0, 300, 12), (2, 0, 0, 12)])
@pytest.mark.parametrize("grad", [False, True])
def test_leading_axes_of_nobody(shape, grad):
    none = torch.zeros(0, dtype=torch.long)
    given = [None, masks.causal, masks.sliding_window(3)]
    given += [masks.padding(none), masks.key_padding(none)] if len(shape) == 3 else []
    fused, attention = both()
    x = torch.randn(shape, requires_grad=grad)
    for mask in given:
        with torch.set_grad_enabled(grad):
            assert fused(x, mask=mask).shape == attention(x, mask=mask).shape == shape


@pytest.mark.parametrize("n", [1, 5, 300])
@pytest.mark.parametrize(
    "mask", [masks.key_padding([0, 0]), masks.causal & ~masks.causal], ids=["padded", "never"]
)
def test_a_context_that_nobody_sees_gets_gradients_of_zero(mask, n):
    fused, attention = both()
    found = []
    for a in (fused, attention):
        context = torch.randn(2, 4, 12, requires_grad=True)
        a(torch.randn(2, n, 12), context, mask).sum().backward()
        found.append(context.grad)
    assert all(torch.equal(grad, torch.zeros(2, 4, 12)) for grad in found)
    assert fused.W_QKV.weight.grad is not None


@pytest.mark.parametrize("mask", [None, masks.causal])
@pytest.mark.parametrize(("n_query", "n_key"), [(0, 0), (0, 3), (3, 0)])
def test_empty_sequences_are_those_of_the_five_stages(n_query, n_key, mask):
    attention, x, context = mha(bias=True), rand(2, n_query, 12), rand(2, n_key, 12)
    y = fuse(attention)(x, context, mask=mask)
    assert_close(y, attention(x, context, mask=mask))
    assert y.isfinite().all()


def test_a_query_that_sees_nothing_gets_zeros_and_finite_gradients():
    attention, x = mha(bias=True), rand(2, 4, 12).requires_grad_()
    fused = fuse(attention)
    y = fused(x, mask=masks.padding([4, 0]))
    assert_close(y[1], attention.W_O.bias.expand(4, -1))
    y.square().sum().backward()
    assert x.grad.isfinite().all()
    assert (x.grad[1] == 0).all()
    assert all(parameter.grad.isfinite().all() for parameter in fused.parameters())
