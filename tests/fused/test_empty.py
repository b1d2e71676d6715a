"""Where there is nothing to look at, shapes, outputs and gradients are still right."""

import pytest
import torch

from mhsa_lib import masks
from tests.fused.pairs import both


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
