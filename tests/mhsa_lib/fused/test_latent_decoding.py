"""Keys are made for a prompt, latents decode, and any cut is one pass."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import testing

from mhsa_book.costs import variant_costs
from mhsa_lib import KVCache, kv_cache, masks, trace_ops
from tests.helpers.drawn import rand
from tests.helpers.padded import left_padded, right_padded
from tests.mhsa_lib.fused.latents import KINDS, assert_close, build, each, fuse, kinds


@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), kinds)
def test_any_cut_is_one_pass(parts, kind):
    attention, x = build(kind), rand(2, sum(parts), 12)
    fused = fuse(attention)
    cache = KVCache(max_length=sum(parts) + 1)
    found = [fused(part, mask=masks.causal, cache=cache) for part in x.split(parts, dim=1)]
    assert_close(torch.cat(found, dim=1), attention(x, mask=masks.causal))


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=5),
    st.integers(1, 6),
    kinds,
)
def test_a_ring_is_a_sliding_window_over_the_whole_text(parts, window, kind):
    attention, x = build(kind), rand(2, sum(parts), 12)
    fused = fuse(attention)
    cache = KVCache(window=window)
    found = [fused(part, mask=masks.causal, cache=cache) for part in x.split(parts, dim=1)]
    assert_close(torch.cat(found, dim=1), attention(x, mask=masks.sliding_window(window)))


@given(st.tuples(st.integers(0, 4), st.integers(0, 4)), st.sampled_from([None, 2, 9]), kinds)
def test_ragged_prompts_then_tokens_are_as_if_alone(lengths, window, kind):
    attention, x, later = build(kind), rand(2, 4, 12), rand(2, 3, 12)
    fused = fuse(attention)
    cache = KVCache(7, window)
    with cache.at(right_padded(lengths, 4)):
        y = fused(x, mask=masks.causal, cache=cache)
    steps = torch.cat([fused(token, cache=cache) for token in later.split(1, dim=1)], dim=1)
    rule = masks.causal if window is None else masks.sliding_window(window)
    for item, length in enumerate(lengths):
        alone = attention(torch.cat([x[item, :length], later[item]]), mask=rule)
        assert_close(torch.cat([y[item, :length], steps[item]]), alone)


@each
def test_padding_may_come_first(kind):
    attention, x, later = build(kind), rand(2, 4, 12), rand(2, 2, 12)
    fused, positions = fuse(attention), left_padded([4, 2])
    cache = KVCache(max_length=6)
    with cache.at(positions):
        fused(x, mask=masks.causal, cache=cache)
    steps = torch.cat([fused(token, cache=cache) for token in later.split(1, dim=1)], dim=1)
    for item, row in enumerate(positions):
        alone = attention(torch.cat([x[item, row >= 0], later[item]]), mask=masks.causal)
        assert_close(steps[item], alone[-2:])


@each
def test_a_drawn_mask_holds_for_made_keys_and_for_latents(kind):
    attention, x = build(kind), rand(2, 6, 12)
    fused, mask = fuse(attention), (torch.rand(2, 3, 6, 6) < 0.6).tril()
    cache, found = KVCache(max_length=6), []
    for start, end in ((0, 3), (3, 4), (4, 6)):
        part = mask[..., start:end, :end]
        found.append(fused(x[:, start:end], mask=part, cache=cache))
    assert_close(torch.cat(found, dim=1), attention(x, mask=mask))


@each
def test_it_keeps_what_remember_keeps_and_what_the_formula_counts(kind):
    attention, x = build(kind), rand(2, 5, 12)
    fused = fuse(attention)
    cache = KVCache(max_length=5)
    fused(x, mask=masks.causal, cache=cache)
    with kv_cache(attention) as kept:
        attention(x, mask=masks.causal)
    rows = torch.cat([kept.wires["latent"], kept.wires["k_rope"]], dim=-1)
    assert_close(cache.wires["latent"], rows)
    options = {"d_latent": 5, "d_rope": 4} | KINDS[kind]
    options.pop("bias", None)
    costs = variant_costs.latent(12, 3, n=1, **options)
    assert cache.bytes == kept.bytes == 2 * costs.cache_bytes(5, itemsize=8)


def test_a_step_makes_nothing_per_head_and_token():
    """No tensor as large as the keys of all heads, and the past is not copied."""
    fused = fuse(build("plain"))
    cache = KVCache(max_length=400)
    fused(rand(1, 300, 12), mask=masks.causal, cache=cache)
    where = cache.wires["latent"].data_ptr()
    ops = trace_ops(lambda: fused(rand(1, 1, 12), cache=cache))
    scores = 3 * 301 * 8
    assert max(op.bytes for op in ops if op.result == "new memory") <= scores
    assert cache.wires["latent"].data_ptr() == where


@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")
def test_under_autocast_the_latents_are_as_narrow_as_asked():
    fused, x = fuse(build("plain").float()), torch.randn(2, 6, 12)
    cache = KVCache(max_length=6)
    with torch.autocast("cpu", torch.bfloat16):
        found = [fused(x[:, :5], mask=masks.causal, cache=cache), fused(x[:, 5:], cache=cache)]
    testing.assert_close(
        torch.cat(found, dim=1).float(), fused(x, mask=masks.causal), rtol=0.05, atol=0.2
    )


@pytest.mark.bothways
def test_a_bad_call_leaves_the_cache_as_it_was():
    attention, x = build("plain"), rand(2, 4, 12)
    fused = fuse(attention)
    cache = KVCache(max_length=4)
    first = fused(x[:, :3], mask=masks.causal, cache=cache)
    for bad, words in (
        (lambda: fused(rand(3, 1, 12), cache=cache), r"sequences of batch \(2,\)"),
        (
            lambda: fused(rand(2, 2, 12), mask=masks.causal, cache=cache),
            "4 tokens of a sequence, 3 have come and 2 more come",
        ),
        (lambda: fused(rand(2, 1, 12), rand(2, 1, 12), cache=cache), "a cache grows with x"),
        (lambda: fused(rand(2, 1, 8), cache=cache), "x is 8 wide"),
        (
            lambda: fused(x[:, :1], mask=torch.ones(9).bool(), cache=cache),
            r"mask \(9,\) does not fit scores \(2, 3, 1, 4\)",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            bad()
    last = fused(x[:, 3:], cache=cache)
    assert_close(torch.cat([first, last], dim=1), attention(x, mask=masks.causal))
