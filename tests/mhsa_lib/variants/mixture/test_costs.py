"""What a mixture of heads costs is what a pass computes, learns and keeps."""

import pytest
import torch

from mhsa_book.costs import variant_costs
from mhsa_lib import masks, trace
from mhsa_lib.cache import kv_cache
from mhsa_lib.variants import MixtureOfHeadAttention


@pytest.mark.parametrize("n_shared", [0, 1, 2, 5])
@pytest.mark.parametrize("d_head", [None, 5])
def test_costs_are_those_of_a_pass_for_any_number_of_active_heads(n_shared, d_head):
    formula = variant_costs.mixture(24, 6, n_shared, n=7, d_head=d_head)
    for n_active in range(1, 7 - n_shared):
        layer = MixtureOfHeadAttention(24, 6, n_shared, n_active, d_head=d_head)
        learned = sum(parameter.numel() for parameter in layer.parameters())
        assert sum(formula.parameters.values()) == learned
        for name, parameter in layer.named_parameters():
            assert formula.parameters[name.split(".")[-2]] == parameter.numel()
        with trace(layer) as wires, kv_cache(layer) as cache:
            layer(torch.randn(7, 24), mask=masks.causal)
        counted = {name: step.flops for name, step in wires.steps.items() if step.flops}
        assert counted == {name: flops for name, flops in formula.flops.items() if flops}
        assert {name: wire.numel() // 7 for name, wire in cache.wires.items()} == formula.cached


def test_the_router_costs_d_model_times_two_more_than_the_heads():
    plain = variant_costs.grouped(1152, 16, 16, n=1).parameters
    routed = variant_costs.mixture(1152, 16, 4, n=1).parameters
    assert sum(routed.values()) - sum(plain.values()) == 1152 * (16 + 2)
