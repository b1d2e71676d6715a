"""Memory is taken once, written to in place, and says what it is."""

import pytest
import torch

from mhsa_book.costs import variant_costs
from mhsa_lib import FusedMultiHeadAttention, masks, trace_ops
from tests.helpers.drawn import rand
from tests.mhsa_lib.cache.static.heads import KV_HEADS, assert_close, build, each


@each
def test_the_past_is_never_copied(fused):
    cache, x = fused.cache(2, 8), rand(2, 8, 12)
    before = cache.k.data_ptr(), cache.v.data_ptr()
    for i in range(8):
        fused(x[:, i : i + 1], mask=masks.causal, cache=cache)
    assert (cache.k.data_ptr(), cache.v.data_ptr()) == before
    k, v = cache.k[..., :3, :].clone(), cache.v[..., :3, :].clone()
    cache.forget()
    fused(x[:, :3], mask=masks.causal, cache=cache)
    assert_close(cache.k[..., :3, :], k)
    assert_close(cache.v[..., :3, :], v)
    assert (cache.k.data_ptr(), cache.v.data_ptr()) == before


def test_a_step_writes_as_much_after_a_hundred_tokens_as_after_one():
    fused = FusedMultiHeadAttention(12, 3)
    cache, x = fused.cache(1, 200), torch.randn(1, 1, 12)
    written = []
    for n_before in (1, 100):
        fused(torch.randn(1, n_before, 12), mask=masks.causal, cache=cache)
        ops = trace_ops(lambda: fused(x, mask=masks.causal, cache=cache))
        written.append(sum(op.bytes for op in ops if "copy" in op.name))
    assert written[0] == written[1] == 2 * x.numel() * x.element_size()


@pytest.mark.parametrize("window", [None, 4])
def test_a_step_of_equally_long_sequences_asks_no_tensor_where_it_stands(window):
    fused = FusedMultiHeadAttention(12, 3)
    cache, x = fused.cache(2, 200, window=window), torch.randn(2, 1, 12)
    fused.prefill(torch.randn(2, 9, 12), cache)
    made = [
        [op.name for op in trace_ops(run) if op.result == "copy"]
        for run in (lambda: fused(x), lambda: fused.step(x, cache))
    ]
    assert made[0] == made[1]


@pytest.mark.parametrize("kind", KV_HEADS)
def test_bytes_are_taken_at_once_and_are_those_of_the_formula(kind):
    fused = build(kind).to(torch.bfloat16)
    costs = variant_costs.grouped(12, 6, KV_HEADS[kind], n=1, d_head=5)
    cache = fused.cache(2, 7)
    assert cache.bytes == 2 * costs.cache_bytes(7)
    assert (cache.n_tokens, cache.k.dtype) == (0, torch.bfloat16)


def test_it_says_what_it_is():
    fused = build("grouped")
    cache, ring = fused.cache(2, 7), fused.cache(2, window=3)
    fused.prefill(rand(2, 4, 12), cache)
    assert repr(cache) == "KeyValueCache(4 tokens, 2,240 bytes)"
    assert repr(ring) == "KeyValueCache(0 tokens in a ring of 3, 960 bytes)"
