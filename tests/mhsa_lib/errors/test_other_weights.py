"""Weights that are not what a map computes with are no reason to refuse its input."""

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_lib import MultiHeadAttention
from tests.helpers.drawn import rand


class OffloadedLinear(nn.Linear):
    """As accelerate leaves it: weights on ``meta``, fetched in the call."""

    def __init__(self, full):
        super().__init__(full.in_features, full.out_features, bias=False, device="meta")
        self.full = [full]  # a list, so that it is no submodule

    def forward(self, x):
        return self.full[0](x)


class QuantisedLinear(nn.Linear):
    """Weight-only quantisation: 8-bit numbers and a scale, multiplied out in the forward."""

    def __init__(self, full, dtype):
        super().__init__(full.in_features, full.out_features, bias=False)
        self.dtype = full.weight.dtype
        self.scale = full.weight.detach().abs().max() / 100
        numbers = (full.weight.detach() / self.scale).round().to(dtype)
        self.weight = nn.Parameter(numbers, requires_grad=False)

    def forward(self, x):
        return nn.functional.linear(x, self.weight.to(self.dtype) * self.scale)


def hooked(full):
    """accelerate on a plain map: its own forward, and the weights on meta around it."""
    offloaded = nn.Linear(full.in_features, full.out_features, bias=False, device="meta")
    offloaded.forward = full.forward
    return offloaded


def mixed(full):
    """A sharded map under mixed precision: parameters in float32, computed in float64."""

    class Mixed(nn.Linear):
        def forward(self, x):
            return full(x)

    return Mixed(full.in_features, full.out_features, bias=False, dtype=torch.float32)


def plain_int8(full):
    """A plain map whose weight was replaced, with a forward of its own."""
    quantised = QuantisedLinear(full, torch.int8)
    holder = nn.Linear(full.in_features, full.out_features, bias=False)
    holder.weight, holder.forward = quantised.weight, quantised.forward
    return holder


OTHER = {
    "offloaded": (OffloadedLinear, 0.0),
    "offloaded by a hook": (hooked, 0.0),
    "int8": (lambda full: QuantisedLinear(full, torch.int8), 0.2),
    "int8 in a plain map": (plain_int8, 0.2),
    "float8": (lambda full: QuantisedLinear(full, torch.float8_e4m3fn), 0.5),
    "mixed precision": (mixed, 0.0),
}


@pytest.mark.parametrize("kind", OTHER)
def test_maps_that_compute_with_other_weights_than_they_show(kind):
    replaced, error = OTHER[kind]
    attention, x = MultiHeadAttention(12, 3).double().requires_grad_(False), rand(2, 5, 12)
    other = copy.deepcopy(attention)
    for name in ("W_Q", "W_K", "W_V"):
        setattr(other.project, name, replaced(getattr(attention.project, name)))
    other.W_O = replaced(attention.W_O)
    assert_close(other(x), attention(x), rtol=0, atol=error)


@pytest.mark.bothways
def test_plain_maps_still_say_when_x_is_of_another_kind():
    attention = MultiHeadAttention(12, 3)
    words = "x is torch.float64 on cpu, but the weights are torch.float32 on cpu; move one of"
    with pytest.raises(ValueError, match=words):
        attention(rand(2, 5, 12))
