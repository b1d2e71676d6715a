"""Gradients flow back through what is remembered."""

import torch
from torch.testing import assert_close

from mhsa_lib import masks
from mhsa_lib.cache import kv_cache
from tests.helpers.drawn import rand
from tests.mhsa_lib.cache.kinds import each
from tests.mhsa_lib.cache.pieces import decode


@each
def test_gradients_flow_back_into_earlier_calls(attention):
    x = rand(2, 5, 12).requires_grad_()
    attention(x, mask=masks.causal)[:, -1].square().sum().backward()
    expected, x.grad = x.grad, None
    weight = attention.project.W_K.weight
    of_weight, weight.grad = weight.grad, None
    decode(attention, x, (2, 2, 1), masks.causal)[0][:, -1].square().sum().backward()
    assert expected[:, 0].abs().sum() > 0
    assert_close(x.grad, expected)
    assert_close(weight.grad, of_weight)


@each
def test_gradients_flow_through_a_reorder(attention):
    x, later = rand(2, 3, 12).requires_grad_(), rand(3, 1, 12)
    with kv_cache(attention) as cache:
        attention(x, mask=masks.causal)
        cache.reorder([1, 1, 0])
        attention(later, mask=masks.causal).square().sum().backward()
    found, x.grad = x.grad, None
    whole = attention(torch.cat([x[[1, 1, 0]], later], dim=1), mask=masks.causal)
    whole[:, -1].square().sum().backward()
    assert_close(found, x.grad)
