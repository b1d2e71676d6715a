"""What overlapping heads cost is what a pass computes, learns and keeps."""

import pytest
import torch

from mhsa_book.costs import variant_costs
from mhsa_lib import MultiHeadAttention, masks, trace
from mhsa_lib.cache import kv_cache
from mhsa_lib.variants import OverlappedAttention


@pytest.mark.parametrize(
    ("d_model", "n_heads", "overlap", "d_head"),
    [(12, 3, 0, None), (12, 3, 4, None), (10, 2, 1, 3)],
)
def test_the_formula_is_what_runs(d_model, n_heads, overlap, d_head):
    layer = OverlappedAttention(d_model, n_heads, overlap, d_head=d_head)
    costs = variant_costs.overlapped(d_model, n_heads, overlap, n=7, d_head=d_head)
    with trace(layer) as wires, kv_cache(layer) as cache:
        layer(torch.randn(7, d_model), mask=masks.causal)
    names = {name.split(".")[-2]: p.numel() for name, p in layer.named_parameters()}
    assert costs.parameters == names
    assert costs.flops == {w: step.flops for w, step in wires.steps.items() if step.flops}
    assert costs.cached == {name: wire.numel() // 7 for name, wire in cache.wires.items()}


def test_the_cache_holds_what_plain_attention_holds():
    x, caches = torch.randn(5, 12), []
    for layer in (OverlappedAttention(12, 3, 4), MultiHeadAttention(12, 3)):
        with kv_cache(layer) as cache:
            layer(x, mask=masks.causal)
        caches.append({name: wire.shape for name, wire in cache.wires.items()})
    assert caches[0] == caches[1]


def test_the_widths_of_heads_have_names_in_a_trace():
    layer = OverlappedAttention(12, 3, 1)
    with trace(layer) as wires:
        layer(torch.randn(5, 12))
    named = ("d_head", "d_heads", "d_wide_head", "d_wide_heads")
    assert [wires.sizes[axis] for axis in named] == [4, 12, 6, 18]
