"""What a cache keeps of every token, and how many bytes that takes."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book.costs import variant_costs
from mhsa_lib import masks, trace
from mhsa_lib.cache import kv_cache
from mhsa_lib.rope.rotary import Rotary, RotarySplit
from mhsa_lib.variants import GroupedQueryAttention, MultiQueryAttention
from tests.helpers.drawn import rand
from tests.mhsa_lib.cache.kinds import each, rotary
from tests.mhsa_lib.cache.pieces import decode


@each
def test_what_is_kept_is_what_one_pass_computes(attention):
    x = rand(2, 6, 12)
    _, cache = decode(attention, x, (2, 1, 3), masks.causal)
    with trace(attention) as wires:
        attention(x)
    assert set(cache.wires) == set(attention.split.cached)
    for name, kept in cache.wires.items():
        assert_close(kept, wires[name])


@pytest.mark.parametrize("n_kv_heads", [1, 2, 6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_bytes_are_those_of_the_formula(n_kv_heads, dtype):
    attention = GroupedQueryAttention(12, 6, n_kv_heads, d_head=5).to(dtype)
    costs = variant_costs.grouped(12, 6, n_kv_heads, n=1, d_head=5)
    with kv_cache(attention) as cache:
        for n_tokens in (4, 1):
            attention(rand(2, n_tokens, 12).to(dtype), mask=masks.causal)
    assert cache.bytes == 2 * costs.cache_bytes(5, itemsize=dtype.itemsize)
    per_token = {name: wire[0, :, 0].numel() for name, wire in cache.wires.items()}
    assert per_token == costs.cached


def test_multi_query_attention_keeps_one_head():
    with kv_cache(MultiQueryAttention(12, 3)) as cache:
        pass
    assert (cache.n_tokens, cache.bytes, cache.wires) == (0, 0, {})
    attention = MultiQueryAttention(12, 3)
    with kv_cache(attention) as cache:
        attention(torch.zeros(5, 12), mask=masks.causal)
    assert cache.wires["k_heads"].shape == (1, 5, 4)
    assert repr(cache) == "KVCache(5 tokens, 160 bytes: k_heads (1, 5, 4), v_heads (1, 5, 4))"


def test_shapes_can_be_asked_for_without_memory():
    with torch.device("meta"):
        attention = GroupedQueryAttention(4096, 32, 8, split=RotarySplit(32, Rotary(128), 8))
        with kv_cache(attention) as cache:
            attention(torch.empty(1, 131_071, 4096), mask=masks.causal)
            attention(torch.empty(1, 1, 4096), mask=masks.causal)
    assert cache.bytes == 2 * variant_costs.grouped(4096, 32, 8, n=1).cache_bytes(131_072)


def test_a_cache_that_was_reset_starts_at_the_first_position():
    attention, x = rotary(), rand(2, 4, 12)
    with kv_cache(attention) as cache:
        attention(rand(3, 2, 12), mask=masks.causal)
        cache.reset()
        assert (cache.n_tokens, cache.bytes) == (0, 0)
        y = attention(x, mask=masks.causal)
    assert_close(y, attention(x, mask=masks.causal))
