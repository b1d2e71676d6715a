"""The fused module decodes into memory that is taken once."""

from copy import deepcopy
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import testing

from mhsa_lib import FusedMultiHeadAttention, masks, trace_ops
from mhsa_lib.cache.positions import left_padded, right_padded
from mhsa_lib.cache.remembering import remember
from mhsa_lib.costs import variant_costs
from tests.helpers.drawn import filled, rand

assert_close = partial(testing.assert_close, rtol=0, atol=1e-10)

KV_HEADS = {"plain": 6, "grouped": 2, "multi-query": 1}
each = pytest.mark.parametrize("fused", KV_HEADS, indirect=True)


def build(kind):
    fused = FusedMultiHeadAttention(12, 6, n_kv_heads=KV_HEADS[kind], d_head=5, bias=True)
    return filled(fused).double().eval()


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


def test_a_pass_with_a_cache_has_no_gradients():
    fused, x = build("plain"), rand(2, 3, 12).requires_grad_()
    assert fused(x).requires_grad
    assert not fused(x, cache=fused.cache(2, 3)).requires_grad


# --- prefill and step ------------------------------------------------------------------------


@given(st.integers(0, 5), st.integers(1, 4), st.sampled_from(list(KV_HEADS)))
def test_a_prompt_and_then_token_by_token_is_one_causal_pass(prompt, n_steps, kind):
    fused, x = build(kind), rand(2, prompt + n_steps, 12)
    cache = fused.cache(2, prompt + n_steps)
    found = [fused.prefill(x[:, :prompt], cache)]
    found += [fused.step(token, cache) for token in x[:, prompt:].split(1, dim=1)]
    assert_close(torch.cat(found, dim=1), fused(x, mask=masks.causal))


@st.composite
def ragged(draw):
    """How many tokens each of two sequences brings in every call, and the padding behind."""
    calls = draw(
        st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=4)
    )
    return [(lengths, max(lengths) + draw(st.integers(0, 1))) for lengths in calls]


@given(ragged(), st.sampled_from([None, 1, 2, 3, 9]), st.sampled_from(list(KV_HEADS)))
def test_ragged_prompts_in_parts_are_each_as_if_alone(calls, window, kind):
    """Parts of any lengths, padded behind, and a token for everyone after each."""
    fused, texts, found = build(kind), [[], []], [[], []]
    cache = fused.cache(2, 20, window=window)
    for lengths, n_tokens in calls:
        x, token = rand(2, n_tokens, 12), rand(2, 1, 12)
        y, later = fused.prefill(x, cache, lengths), fused.step(token, cache)
        for item, length in enumerate(lengths):
            texts[item] += [x[item, :length], token[item]]
            found[item] += [y[item, :length], later[item]]
            assert_close(y[item, length:], fused.W_O.bias.expand(n_tokens - length, -1))
    rule = masks.causal if window is None else masks.sliding_window(window)
    for text, y in zip(texts, found, strict=True):
        assert_close(torch.cat(y), fused(torch.cat(text)[None], mask=rule)[0])
    assert cache.lengths == [sum(map(len, text)) for text in texts]


def test_padding_takes_no_room_and_may_be_anything():
    fused, x = build("grouped"), rand(2, 4, 12)
    cache, short = fused.cache(2, 4), fused.cache(1, 3)
    x[1, 2:] = float("nan")
    fused.prefill(x[:, :3], cache, [3, 2])
    later = fused.step(x[:, :1], cache)
    fused.prefill(x[1:, :2], short)
    assert_close(later[1:], fused.step(x[1:, :1], short))
    assert (cache.lengths, cache.n_tokens) == ([4, 3], 4)


def test_a_prompt_that_failed_can_be_given_again():
    fused, x = build("plain"), rand(2, 3, 12)
    cache = fused.cache(2, 5)
    with pytest.raises(ValueError, match=r"x has shape|8 wide"):
        fused.prefill(rand(2, 3, 8), cache, [3, 1])
    expected = fused.step(x[:, :1], fused.cache(2, 5))
    assert_close(fused.step(x[:, :1], cache), expected)


# --- the ring --------------------------------------------------------------------------------


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


# --- precision and memory layout -------------------------------------------------------------


def test_under_autocast_the_cache_is_as_narrow_as_the_numbers():
    fused, x = build("grouped").float(), torch.randn(2, 6, 12)
    cache = fused.cache(2, 6, dtype=torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        found = [fused.prefill(x[:, :4], cache), fused.step(x[:, 4:5], cache)]
        found.append(fused.step(x[:, 5:], cache))
    whole = fused(x, mask=masks.causal)
    testing.assert_close(torch.cat(found, dim=1).float(), whole, rtol=0.05, atol=0.1)
    assert cache.bytes == fused.cache(2, 6).bytes // 2
    with pytest.raises(ValueError, match=r"k is torch.float32, the cache torch.bfloat16"):
        fused.step(x[:, :1], fused.cache(2, 6, dtype=torch.bfloat16))


@pytest.mark.parametrize(
    "view",
    {
        "turned": lambda x: x.mT.contiguous().mT,
        "every second": lambda x: x.repeat_interleave(2, dim=1)[:, ::2],
        "expanded": lambda x: x[:1, :, :].expand(2, -1, -1),
    }.values(),
)
def test_x_may_lie_in_memory_in_any_way(view):
    fused, x = build("grouped"), view(rand(2, 6, 12))
    assert not x.is_contiguous()
    found, _ = decode(fused, x, (3, 1, 2), masks.causal)
    assert_close(found, fused(x.contiguous(), mask=masks.causal))


def test_it_says_what_it_is():
    fused = build("grouped")
    cache, ring = fused.cache(2, 7), fused.cache(2, window=3)
    fused.prefill(rand(2, 4, 12), cache)
    assert repr(cache) == "KeyValueCache(4 tokens, 2,240 bytes)"
    assert repr(ring) == "KeyValueCache(0 tokens in a ring of 3, 960 bytes)"


# --- bad input -------------------------------------------------------------------------------

BAD = {
    "another batch": (
        lambda fused, cache: fused(rand(3, 1, 12), cache=cache),
        r"the cache holds sequences of batch \(2,\), but x has \(3,\); go on with the same",
    ),
    "another device": (
        lambda fused, cache: deepcopy(fused).to("meta")(rand(2, 1, 12).to("meta"), cache=cache),
        "the cache is on cpu, but x is on meta; move x, or start another cache there",
    ),
    "another dtype": (
        lambda fused, cache: build("plain").float()(rand(2, 1, 12).float(), cache=cache),
        r"k is torch.float32, the cache torch.float64; .*, or with cache\(…, dtype=torch.f",
    ),
    "no room": (
        lambda fused, cache: fused(rand(2, 3, 12), cache=cache),
        "the cache has room for 5 tokens of a sequence, 3 have come and 3 more come; give it a "
        "length of 6 or more",
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
        "k has 2 heads of 5, the cache was made for 6 of 5; make one with cache",
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
    words = r"the cache holds sequences of batch \(2,\), but x has \(3,\)"
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
    with pytest.raises(ValueError, match="a cache has an end, or a window; give it a length"):
        build("plain").cache(2)


@pytest.mark.bothways
@pytest.mark.parametrize("lengths", [[4, 1], [-1, 2], [1, 2, 3], [1.5, 1]], ids=str)
def test_lengths_that_do_not_fit_are_refused(lengths):
    fused = build("plain")
    cache = fused.cache(2, 5)
    words = r"lengths .* do not fit 3 tokens|3 lengths are given for 2 sequences|whole numbers"
    with pytest.raises((ValueError, TypeError), match=words):
        fused.prefill(rand(2, 3, 12), cache, lengths)
    assert cache.n_tokens == 0
    fused.step(rand(2, 1, 12), cache)


@pytest.mark.bothways
@pytest.mark.parametrize("shape", [(2, 0, 12), (2, 2, 12), (12,)], ids=str)
def test_a_step_is_one_token(shape):
    fused = build("plain")
    with pytest.raises(ValueError, match="is not one token for each sequence"):
        fused.step(rand(*shape), fused.cache(2, 5))


# --- compiled --------------------------------------------------------------------------------

LENGTHS = {"even": None, "uneven": [5, 3]}


@pytest.mark.nohook
@pytest.mark.parametrize("window", [None, 8])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_compiled_decoding_is_compiled_once_and_again_for_any_number_of_tokens(lengths, window):
    """What changes from token to token becomes a size in the graph, and no new graph."""
    from torch._dynamo.testing import CompileCounter

    torch.compiler.reset()
    counter, fused = CompileCounter(), build("grouped")
    step = torch.compile(fused.step, backend=counter)
    x, compilations = rand(2, 30, 12), []
    for _ in range(2):  # another text, another cache
        caches = [fused.cache(2, 40, window=window) for _ in range(2)]
        for cache in caches:
            fused.prefill(x[:, :5], cache, lengths)
        for token in x[:, 5:].split(1, dim=1):
            assert_close(step(token, caches[0]), fused.step(token, caches[1]))
            compilations.append(counter.frame_count)
    assert caches[0].lengths == caches[1].lengths
    assert compilations[0] == 1, "the step breaks into several graphs"
    assert compilations[3:] == [compilations[2]] * 47
    assert compilations[2] <= 3
    torch.compiler.reset()


@pytest.mark.nohook
def test_compiled_decoding_from_nothing_and_after_a_reorder_stays_compiled():
    from torch._dynamo.testing import CompileCounter

    torch.compiler.reset()
    counter, fused = CompileCounter(), build("plain")
    step = torch.compile(fused.step, backend=counter, fullgraph=True)
    caches = [fused.cache(2, 40) for _ in range(2)]
    compilations = []
    for i, token in enumerate(rand(2, 24, 12).split(1, dim=1)):
        assert_close(step(token, caches[0]), fused.step(token, caches[1]))
        compilations.append(counter.frame_count)
        for cache in caches:
            cache.reorder([1, i % 2])
    assert compilations[3:] == [compilations[3]] * 21
    assert compilations[3] <= 4
    torch.compiler.reset()
