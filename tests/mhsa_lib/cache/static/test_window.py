"""A ring of slots is a sliding window over the whole text."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mhsa_lib import masks, trace_ops
from tests.helpers.drawn import rand
from tests.mhsa_lib.cache.static.heads import KV_HEADS, assert_close, build


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=5),
    st.integers(1, 6),
    st.sampled_from(list(KV_HEADS)),
)
def test_a_ring_is_a_sliding_window_over_the_whole_text(parts, window, kind):
    fused, x = build(kind), rand(2, sum(parts), 12)
    cache = fused.cache(2, window=window)
    found = [fused.prefill(part, cache) for part in x.split(parts, dim=1)]
    assert_close(torch.cat(found, dim=1), fused(x, mask=masks.sliding_window(window)))
    assert cache.k.shape[2] == window


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(1, 3))
def test_in_a_ring_other_rules_hold_within_the_window(parts, window):
    fused, x = build("grouped"), rand(2, sum(parts), 12)
    odd = masks.causal & masks.custom(lambda query, key: (query - key) % 2 == 0)
    odd |= masks.custom(lambda query, key: key == 2) & masks.causal
    cache = fused.cache(2, window=window)
    found = [fused(part, mask=odd, cache=cache) for part in x.split(parts, dim=1)]
    assert_close(torch.cat(found, dim=1), fused(x, mask=odd & masks.sliding_window(window)))


def test_memory_stays_while_the_text_grows():
    fused = build("plain")
    cache, sizes, written = fused.cache(1, window=4), set(), set()
    for i in range(40):
        x = rand(1, 1, 12)
        ops = trace_ops(lambda x=x: fused.step(x, cache))
        sizes.add((cache.bytes, cache.k.data_ptr(), cache.v.data_ptr()))
        if i >= 4:
            written.add(tuple((op.name, op.shape) for op in ops))
    assert len(sizes) == len(written) == 1
    assert cache.bytes == 2 * 6 * 4 * 5 * 8
    assert cache.n_tokens == 40


def test_a_ring_may_have_an_end():
    fused, x = build("plain"), rand(1, 6, 12)
    cache = fused.cache(1, 5, window=3)
    fused.prefill(x[:, :5], cache)
    with pytest.raises(ValueError, match="5 tokens of a sequence, 5 have come and 1 more come"):
        fused.step(x[:, 5:], cache)
    assert fused.cache(1, 2, window=3).k.shape[2] == 2
