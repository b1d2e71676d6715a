"""Allocated memory is written to in place, a ring stays as large as its window."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import testing

from mhsa_book.costs import variant_costs
from mhsa_lib import FusedMultiHeadAttention, KVCache, kv_cache, masks, trace_ops
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.cache.heads import KV_HEADS, assert_close, build, decode, each


def where(cache):
    return [wire.data_ptr() for wire in cache.wires.values()]


@each
def test_the_past_is_never_copied(fused):
    cache, x = KVCache(max_length=8), rand(2, 8, 12)
    fused(x[:, :1], cache=cache)
    before = where(cache)
    for i in range(1, 8):
        fused(x[:, i : i + 1], mask=masks.causal, cache=cache)
    assert where(cache) == before
    k, v = (wire[..., :3, :].clone() for wire in cache.wires.values())
    cache.reset()
    fused(x[:, :3], mask=masks.causal, cache=cache)
    assert_close(list(cache.wires.values()), [k, v])
    assert where(cache) == before


def test_a_step_writes_as_much_after_a_hundred_tokens_as_after_one():
    fused = FusedMultiHeadAttention(12, 3)
    cache, x = KVCache(max_length=200), torch.randn(1, 1, 12)
    written = []
    for n_before in (1, 100):
        fused(torch.randn(1, n_before, 12), mask=masks.causal, cache=cache)
        ops = trace_ops(lambda: fused(x, mask=masks.causal, cache=cache))
        written.append(sum(op.bytes for op in ops if "copy" in op.name))
    assert written[0] == written[1] == 2 * x.numel() * x.element_size()


@pytest.mark.parametrize("window", [None, 4])
def test_a_step_of_equally_long_sequences_asks_no_tensor_where_it_is(window):
    fused = FusedMultiHeadAttention(12, 3)
    cache, x = KVCache(200, window), torch.randn(2, 1, 12)
    fused(torch.randn(2, 9, 12), mask=masks.causal, cache=cache)
    made = [
        [op.name for op in trace_ops(run) if op.result == "new memory"]
        for run in (lambda: fused(x), lambda: fused(x, cache=cache))
    ]
    assert made[0] == made[1]


@pytest.mark.parametrize("kind", KV_HEADS)
def test_bytes_are_allocated_by_the_first_call_and_are_those_of_the_formula(kind):
    fused = build(kind).to(torch.bfloat16)
    costs = variant_costs.grouped(12, 6, KV_HEADS[kind], n=1, d_head=5)
    cache = KVCache(max_length=7)
    assert (cache.n_tokens, cache.bytes, cache.lengths) == (0, 0, [])
    fused(rand(2, 1, 12).bfloat16(), cache=cache)
    assert cache.bytes == 2 * costs.cache_bytes(7)
    assert cache.wires["k"].dtype == torch.bfloat16


def test_it_says_what_it_is():
    fused, cache, ring = build("grouped"), KVCache(max_length=7), KVCache(window=3)
    fused(rand(2, 4, 12), mask=masks.causal, cache=cache)
    fused(rand(2, 4, 12), mask=masks.causal, cache=ring)
    assert repr(cache) == "KVCache(4 tokens, 2,240 bytes: k (2, 2, 7, 5), v (2, 2, 7, 5))"
    assert (
        repr(ring)
        == "KVCache(4 tokens in a ring of 3, 960 bytes: k (2, 2, 3, 5), v (2, 2, 3, 5))"
    )


@each
def test_it_keeps_what_the_five_stages_keep(fused):
    staged, x, cache = fused.to_attention(), rand(2, 5, 12), KVCache(max_length=12)
    found = decode(fused, x, (3, 1, 1), masks.causal, cache)
    with kv_cache(staged) as kept:
        expected = [staged(part, mask=masks.causal) for part in x.split((3, 1, 1), dim=1)]
    assert_close(found, torch.cat(expected, dim=1))
    assert_close(list(cache.wires.values()), list(kept.wires.values()))


def test_a_pass_of_the_fused_module_with_a_cache_has_no_gradients():
    fused, x = build("plain"), rand(2, 3, 12).requires_grad_()
    assert fused(x).requires_grad
    assert not fused(x, mask=masks.causal, cache=KVCache(max_length=3)).requires_grad


def test_under_autocast_the_cache_is_as_narrow_as_the_numbers():
    fused, x = build("grouped").float(), torch.randn(2, 6, 12)
    narrow, wide = KVCache(max_length=6), KVCache(max_length=6)
    with torch.autocast("cpu", torch.bfloat16):
        parts = [fused(p, mask=masks.causal, cache=narrow) for p in x.split([4, 1, 1], dim=1)]
    whole = fused(x, mask=masks.causal, cache=wide)
    testing.assert_close(torch.cat(parts, dim=1).float(), whole, rtol=0.05, atol=0.1)
    assert narrow.bytes == wide.bytes // 2


VIEWS = {
    "turned": lambda x: x.mT.contiguous().mT,
    "every second": lambda x: x.repeat_interleave(2, dim=1)[:, ::2],
    "expanded": lambda x: x[:1, :, :].expand(2, -1, -1),
}


@pytest.mark.parametrize("view", VIEWS)
def test_x_may_be_in_memory_in_any_way(view):
    fused, x = build("grouped"), VIEWS[view](rand(2, 6, 12))
    assert not x.is_contiguous()
    found = decode(fused, x, (3, 1, 2), masks.causal, KVCache(max_length=6))
    assert_close(found, fused(x.contiguous(), mask=masks.causal))


# --- rings -----------------------------------------------------------------------------------


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=5),
    st.integers(1, 6),
    st.sampled_from(list(KV_HEADS)),
)
def test_a_ring_is_a_sliding_window_over_the_whole_text(parts, window, kind):
    fused, x, cache = build(kind), rand(2, sum(parts), 12), KVCache(window=window)
    found = decode(fused, x, parts, masks.causal, cache)
    assert_close(found, fused(x, mask=masks.sliding_window(window)))
    assert cache.bytes == 2 * 2 * KV_HEADS[kind] * window * 5 * 8


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(1, 3))
def test_in_a_ring_other_rules_hold_within_the_window(parts, window):
    fused, x = build("grouped"), rand(2, sum(parts), 12)
    odd = masks.causal & masks.custom(lambda query, key: (query - key) % 2 == 0)
    odd |= masks.custom(lambda query, key: key == 2) & masks.causal
    found = decode(fused, x, parts, odd, KVCache(window=window))
    assert_close(found, fused(x, mask=odd & masks.sliding_window(window)))


def test_memory_stays_while_the_text_grows():
    fused, cache, sizes, written = build("plain"), KVCache(window=4), set(), set()
    for i in range(40):
        x = rand(1, 1, 12)
        ops = trace_ops(lambda x=x: fused(x, cache=cache))
        sizes.add((cache.bytes, *where(cache)))
        if i >= 4:
            written.add(tuple((op.name, op.shape) for op in ops))
    assert len(sizes) == len(written) == 1
    assert cache.bytes == 2 * 6 * 4 * 5 * 8
    assert cache.n_tokens == 40


def test_a_ring_may_have_an_end():
    fused, x, cache = build("plain"), rand(1, 6, 12), KVCache(5, window=3)
    fused(x[:, :5], mask=masks.causal, cache=cache)
    with pytest.raises(ValueError, match="5 tokens of a sequence, 5 have come and 1 more come"):
        fused(x[:, 5:], cache=cache)


@pytest.mark.parametrize("window", [6, 7, 2**63, 2**100])
def test_a_window_that_the_length_never_fills_forgets_nothing(window):
    attention, x = mha(), rand(2, 6, 12)
    with kv_cache(attention, cache=KVCache(6, window)) as cache:
        found = [attention(part, mask=masks.causal) for part in x.split([4, 1, 1], dim=1)]
    assert_close(torch.cat(found, dim=1), attention(x, mask=masks.causal))
    assert cache.bytes == 2 * 2 * 12 * 6 * 8


@pytest.mark.bothways
@pytest.mark.parametrize("size", ["max_length", "window"])
def test_room_for_nothing_is_refused(size):
    with pytest.raises(ValueError, match=f"{size}=0 is not a size; it must be at least 1"):
        KVCache(**{size: 0})


@pytest.mark.bothways
def test_the_cache_of_another_attention_is_refused():
    cache = KVCache(max_length=5)
    build("plain")(rand(2, 2, 12), mask=masks.causal, cache=cache)
    words = r"wire 'k' came as torch.float64 \(2, 2, 1, 5\), but .*float64 \(2, 6, 1, 5\), once"
    with pytest.raises(ValueError, match=words):
        build("grouped")(rand(2, 1, 12), cache=cache)
    assert cache.lengths == [2, 2]
