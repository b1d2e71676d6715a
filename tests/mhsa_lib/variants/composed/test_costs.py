"""What composed heads cost is what a pass computes, learns and keeps."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from mhsa_book.costs import variant_costs
from mhsa_lib import masks, trace
from mhsa_lib.cache import kv_cache
from mhsa_lib.variants import ComposedAttention


@given(  # a sum over one head or one rank runs as an elementwise product: not counted
    n_heads=st.integers(2, 4),
    rank=st.integers(2, 4),
    d_head=st.integers(1, 4),
    n=st.integers(1, 5),
)
def test_the_formula_counts_what_the_module_has_does_and_keeps(n_heads, rank, d_head, n):
    rank = min(rank, n_heads)
    layer = ComposedAttention(7, n_heads, rank=rank, d_head=d_head)
    costs = variant_costs.composed(7, n_heads, rank=rank, d_head=d_head, n=n)
    counted = dict.fromkeys(costs.parameters, 0)
    for name, parameter in layer.named_parameters():
        counted[name.removesuffix(".weight").split(".")[-1]] += parameter.numel()
    assert counted == costs.parameters
    with trace(layer) as wires:
        layer(torch.randn(n, 7))
    assert {wire: s.flops for wire, s in wires.steps.items() if s.flops} == costs.flops
    with kv_cache(layer) as cache:
        layer(torch.randn(n, 7), mask=masks.causal)
    assert {wire: kept.numel() // n for wire, kept in cache.wires.items()} == costs.cached


def test_the_cost_in_the_words_of_the_docstring():
    d_model, h, n = 64, 8, 10
    plain = variant_costs.grouped(d_model, h, h, n=n)
    composed = variant_costs.composed(d_model, h, n=n)
    more = sum(composed.parameters.values()) - sum(plain.parameters.values())
    assert more == 20 * d_model * h + 64 * h**2 + 2 * h**2
    assert sum(composed.cached.values()) - sum(plain.cached.values()) == 10 * h
    per_pair = composed.flops["composed_scores"] + composed.flops["composed_weights"]
    assert per_pair == n**2 * (32 * h + 4 * h**2)
