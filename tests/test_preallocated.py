"""The fused module decodes into memory that is taken once."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import init
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, masks, trace_ops, variant_costs
from mhsa_lib.cache import remember
from mhsa_lib.places import left_padded, right_padded
from tests.drawn import rand

KV_HEADS = {"plain": 6, "grouped": 2, "multi-query": 1}
each = pytest.mark.parametrize("fused", KV_HEADS, indirect=True)


def build(kind):
    fused = FusedMultiHeadAttention(12, 6, n_kv_heads=KV_HEADS[kind], d_head=5, bias=True)
    for parameter in fused.parameters():
        init.normal_(parameter, std=0.5)
    return fused.double().eval()


@pytest.fixture
def fused(request):
    return build(request.param)


def decode(fused, x, parts, mask, length=12):
    cache = fused.cache(x.shape[0], length)
    found = [fused(part, mask=mask, cache=cache) for part in x.split(parts, dim=1)]
    return torch.cat(found, dim=1), cache


RULES = st.sampled_from(
    [
        masks.causal,
        masks.sliding_window(2),
        masks.causal & masks.key_padding([3, 1]),
        masks.causal & ~masks.causal,
    ]
)


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=3), RULES, st.sampled_from(list(KV_HEADS))
)
def test_any_cut_under_any_causal_rule_is_one_pass(parts, mask, kind):
    fused, x = build(kind), rand(2, sum(parts), 12)
    found, cache = decode(fused, x, parts, mask)
    assert_close(found, fused(x, mask=mask))
    assert cache.n_tokens == sum(parts)


@each
def test_a_drawn_mask_is_about_the_tokens_kept(fused):
    x, mask = rand(2, 6, 12), (torch.rand(2, 6, 6, 6) < 0.6).tril()
    cache = fused.cache(2, 6)
    found = [
        fused(x[:, i : i + 2], mask=mask[..., i : i + 2, : i + 2], cache=cache)
        for i in (0, 2, 4)
    ]
    assert_close(torch.cat(found, dim=1), fused(x, mask=mask))


@each
def test_it_keeps_what_remember_keeps(fused):
    staged, x = fused.to_attention(), rand(2, 5, 12)
    found, cache = decode(fused, x, (3, 1, 1), masks.causal)
    with remember(staged) as kept:
        expected = [staged(part, mask=masks.causal) for part in x.split((3, 1, 1), dim=1)]
    assert_close(found, torch.cat(expected, dim=1))
    assert_close(cache.k[..., :5, :], kept["k_heads"])
    assert_close(cache.v[..., :5, :], kept["v_heads"])


@pytest.mark.parametrize("padded", [left_padded, right_padded])
@each
def test_ragged_prompts_then_tokens_are_as_if_alone(fused, padded):
    positions, x, later = padded([4, 2, 0]), rand(3, 4, 12), rand(3, 3, 12)
    cache = fused.cache(3, 7)
    cache.announce(positions)
    fused(x, mask=masks.causal, cache=cache)
    steps = [fused(token, mask=masks.causal, cache=cache) for token in later.split((1, 2), 1)]
    for item, row in enumerate(positions):
        alone = fused(torch.cat([x[item, row >= 0], later[item]]), mask=masks.causal)
        assert_close(torch.cat(steps, dim=1)[item], alone[-3:])


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


@pytest.mark.parametrize("kind", KV_HEADS)
def test_bytes_are_taken_at_once_and_are_those_of_the_formula(kind):
    fused = build(kind).to(torch.bfloat16)
    costs = variant_costs.grouped(12, 6, KV_HEADS[kind], n=1, d_head=5)
    cache = fused.cache(2, 7)
    assert cache.bytes == 2 * costs.cache_bytes(7)
    assert (cache.n_tokens, cache.k.dtype) == (0, torch.bfloat16)


def test_a_pass_with_a_cache_has_no_gradients():
    fused, x = build("plain"), rand(2, 3, 12).requires_grad_()
    assert fused(x).requires_grad
    assert not fused(x, cache=fused.cache(2, 3)).requires_grad


# --- bad input -------------------------------------------------------------------------------

BAD = {
    "another batch": (
        lambda fused, cache: fused(rand(3, 1, 12), cache=cache),
        r"the cache holds sequences of batch \(2,\), but x has \(3,\); go on with the same",
    ),
    "another device": (
        lambda fused, cache: fused(rand(2, 1, 12).to("meta"), cache=cache),
        "the cache is on cpu, but x is on meta; move x, or start another cache there",
    ),
    "another dtype": (
        lambda fused, cache: build("plain").float()(rand(2, 1, 12).float(), cache=cache),
        "k is torch.float32 on cpu, the cache torch.float64 on cpu; make the cache after",
    ),
    "no room": (
        lambda fused, cache: fused(rand(2, 3, 12), cache=cache),
        "the cache has 5 slots, 3 are taken and 3 tokens come; give it a length of 6 or more",
    ),
    "a context": (
        lambda fused, cache: fused(rand(2, 1, 12), rand(2, 4, 12), cache=cache),
        "a cache grows with x, but a context was given; keys of a fixed context do not change",
    ),
    "a wrong width": (
        lambda fused, cache: fused(rand(2, 1, 8), cache=cache),
        r"x is 8 wide, shape \(2, 1, 8\), but d_model=12",
    ),
    "a mask that does not fit": (
        lambda fused, cache: fused(rand(2, 1, 12), mask=torch.ones(9).bool(), cache=cache),
        r"mask \(9,\) does not fit scores \(2, 6, 1, 4\)",
    ),
    "another number of heads": (
        lambda fused, cache: build("grouped")(rand(2, 1, 12), cache=cache),
        r"k has batch and heads \(2, 2\), the cache was made for \(2, 6\); make one with cache",
    ),
}


@pytest.mark.bothways
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_call_says_so_and_leaves_the_cache_as_it_was(kind):
    call, words = BAD[kind]
    fused, x = build("plain"), rand(2, 4, 12)
    cache = fused.cache(2, 5)
    first = fused(x[:, :3], mask=masks.causal, cache=cache)
    k, v = cache.k[..., :3, :].clone(), cache.v[..., :3, :].clone()
    with pytest.raises(ValueError, match=words):
        call(fused, cache)
    assert cache.n_tokens == 3
    assert torch.equal(cache.k[..., :3, :], k)
    assert torch.equal(cache.v[..., :3, :], v)
    last = fused(x[:, 3:], mask=masks.causal, cache=cache)
    assert_close(torch.cat([first, last], dim=1), fused(x, mask=masks.causal))


@pytest.mark.bothways
def test_the_first_call_has_the_batch_the_cache_was_made_for():
    fused = build("grouped")
    words = r"k has batch and heads \(3, 2\), the cache was made for \(2, 2\)"
    with pytest.raises(ValueError, match=words):
        fused(rand(3, 1, 12), cache=fused.cache(2, 5))


@pytest.mark.bothways
def test_positions_that_do_not_continue_are_refused():
    fused = build("plain")
    cache = fused.cache(2, 5)
    cache.announce([[1], [0]])
    with pytest.raises(ValueError, match=r"positions \[1\] do not continue a sequence of 0"):
        fused(rand(2, 1, 12), cache=cache)


@pytest.mark.bothways
def test_room_for_nothing_is_refused():
    with pytest.raises(ValueError, match="length=0 is not a size; it must be at least 1"):
        build("plain").cache(2, 0)
