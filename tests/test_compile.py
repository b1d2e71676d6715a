"""torch.compile takes the whole forward pass, without a break, and changes no number."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, masks, trace
from tests.drawn import mha, rand

pytestmark = pytest.mark.nohook


def compiled(module):
    torch.compiler.reset()
    return torch.compile(module, fullgraph=True, backend="eager")


@pytest.mark.parametrize("mask", [None, masks.causal], ids=str)
@pytest.mark.parametrize("fused", [False, True])
def test_the_whole_pass_is_one_graph(fused, mask):
    attention, x = mha(bias=True), rand(2, 5, 12)
    module = FusedMultiHeadAttention.from_attention(attention) if fused else attention
    assert_close(compiled(module)(x, mask=mask), attention(x, mask=mask))


def test_a_compiled_attention_can_be_trained():
    attention, x = mha(), rand(2, 5, 12)
    compiled(attention)(x, mask=masks.causal).square().sum().backward()
    found = attention.project.W_Q.weight.grad.clone()
    attention.zero_grad()
    attention(x, mask=masks.causal).square().sum().backward()
    assert_close(found, attention.project.W_Q.weight.grad)


def test_the_module_that_was_compiled_can_still_be_traced():
    attention, x = mha(), rand(2, 5, 12)
    expected = compiled(attention)(x)
    with trace(attention) as wires:
        attention(x)
    assert_close(wires["y"], expected)
