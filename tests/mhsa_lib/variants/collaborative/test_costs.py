"""What collaborative attention costs is what a pass computes, learns and keeps."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from mhsa_book.costs import variant_costs
from mhsa_lib import masks, trace
from mhsa_lib.cache import kv_cache
from mhsa_lib.variants import CollaborativeAttention

SIZE = st.integers(1, 5)


@given(SIZE, SIZE, SIZE, SIZE, SIZE)
def test_the_formula_is_what_is_learned_computed_and_kept(
    d_model, n_heads, d_head, d_shared, n
):
    layer = CollaborativeAttention(d_model, n_heads, d_shared, d_head=d_head)
    formula = variant_costs.collaborative(d_model, n_heads, d_shared, n=n, d_head=d_head)
    learned = {
        name.split(".")[-2 if "weight" in name else -1]: p.numel()
        for name, p in layer.named_parameters()
    }
    assert formula.parameters == learned
    with trace(layer) as wires:
        layer(torch.randn(n, d_model))
    counted = {name: step.flops for name, step in wires.steps.items() if step.flops}
    assert formula.flops == counted
    with kv_cache(layer) as cache:
        layer(torch.randn(n, d_model), mask=masks.causal)
    assert formula.cached == {name: wire.numel() // n for name, wire in cache.wires.items()}
