"""Decoding with a cache is one pass in pieces, and a call that fails leaves no trace."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint

from mhsa_lib import MultiHeadAttention, edit, masks, trace
from mhsa_lib.cache.positions import left_padded, right_padded
from mhsa_lib.cache.remembering import remember
from mhsa_lib.costs import variant_costs
from mhsa_lib.rope.pairing import HALVES
from mhsa_lib.rope.rotary import Rotary
from mhsa_lib.rope.rotary_split import RotarySplit
from mhsa_lib.stages import Attend, Split
from mhsa_lib.variants import GroupedQueryAttention, MultiQueryAttention
from tests.helpers.drawn import filled, mha, rand


def randomized(attention):
    return filled(attention).double().eval()


def grouped(**options):
    return randomized(GroupedQueryAttention(12, 6, 2, **options))


def rotary():
    return grouped(split=RotarySplit(6, Rotary(2, base=10.0), 2))


BUILD = {"plain": lambda: mha(bias=True), "grouped": grouped, "rotary": rotary}
each = pytest.mark.parametrize("attention", BUILD, indirect=True)


@pytest.fixture
def attention(request):
    return BUILD[request.param]()


def decode(attention, x, parts, mask, **options):
    with remember(attention, **options) as cache:
        found = [attention(part, mask=mask) for part in x.split(parts, dim=-2)]
    return torch.cat(found, dim=-2), cache


def hooks(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def state(cache):
    """Everything a cache knows, to compare before and after."""
    table = cache.positions
    wires = {name: wire.clone() for name, wire in cache.items()}
    return wires, table.table.tolist(), table.lengths.tolist(), table.uniform, repr(cache)


def same(before, after):
    assert before[1:] == after[1:]
    assert before[0].keys() == after[0].keys()
    assert all(torch.equal(before[0][name], after[0][name]) for name in before[0])


# --- one pass in pieces ----------------------------------------------------------------------


@st.composite
def cuts(draw):
    """Lengths of the calls: 1 to 7 tokens in all."""
    parts = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    return tuple(parts)


PREDICATES = st.sampled_from(
    [
        masks.causal,
        masks.sliding_window(2),
        masks.prefix(1) & masks.causal,
        masks.causal & masks.key_padding([3, 1]),
        masks.padding([4, 2]) & masks.causal,
        masks.causal & masks.custom(lambda query, key: (query - key) % 2 == 0),
        masks.causal & ~masks.causal,
    ]
)


@given(cuts(), PREDICATES, st.sampled_from(sorted(BUILD)))
def test_any_cut_under_any_causal_rule_is_one_pass(parts, mask, kind):
    attention, x = BUILD[kind](), rand(2, sum(parts), 12)
    found, _ = decode(attention, x, parts, mask)
    assert_close(found, attention(x, mask=mask))


@given(cuts(), st.integers(0, 1000))
def test_any_cut_under_a_drawn_mask_is_one_pass(parts, seed):
    """A boolean tensor is about the tokens kept: row by row what one pass would get."""
    torch.manual_seed(seed)
    attention, n = mha(bias=True), sum(parts)
    x, mask = rand(2, n, 12), (torch.rand(2, 3, n, n) < 0.6).tril()
    with remember(attention):
        end, found = 0, []
        for part in x.split(parts, dim=1):
            start, end = end, end + part.shape[1]
            found.append(attention(part, mask=mask[..., start:end, :end]))
    assert_close(torch.cat(found, dim=1), attention(x, mask=mask))


@each
def test_the_prompt_in_one_call_gives_the_same_bits(attention):
    x = rand(2, 6, 12)
    for mask in (None, masks.causal, masks.sliding_window(2)):
        with remember(attention) as cache:
            found = attention(x, mask=mask)
        assert torch.equal(found, attention(x, mask=mask))
        assert cache.n_tokens == 6


@each
def test_what_is_kept_is_what_one_pass_computes(attention):
    x = rand(2, 6, 12)
    _, cache = decode(attention, x, (2, 1, 3), masks.causal)
    with trace(attention) as wires:
        attention(x)
    assert set(cache) == set(attention.split.cached)
    for name, kept in cache.items():
        assert_close(kept, wires[name])


@each
def test_gradients_flow_back_into_earlier_calls(attention):
    x = rand(2, 5, 12).requires_grad_()
    attention(x, mask=masks.causal)[:, -1].square().sum().backward()
    expected, x.grad = x.grad, None
    weight = attention.project.W_K.weight
    of_weight, weight.grad = weight.grad, None
    decode(attention, x, (2, 2, 1), masks.causal)[0][:, -1].square().sum().backward()
    assert expected[:, 0].abs().sum() > 0
    assert_close(x.grad, expected)
    assert_close(weight.grad, of_weight)


def test_a_call_without_tokens_changes_nothing():
    attention, x = mha(), rand(2, 4, 12)
    found, cache = decode(attention, x, (0, 3, 0, 1), masks.causal)
    assert_close(found, attention(x, mask=masks.causal))
    assert cache.n_tokens == 4
    for window in (1, 3):
        rule = masks.sliding_window(window)
        found, cache = decode(attention, x, (0, 3, 0, 1, 0), rule, window=window)
        assert_close(found, attention(x, mask=rule))
        assert cache.n_tokens == window - 1


@pytest.mark.parametrize("n_kv_heads", [1, 2, 6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_bytes_are_those_of_the_formula(n_kv_heads, dtype):
    attention = GroupedQueryAttention(12, 6, n_kv_heads, d_head=5).to(dtype)
    costs = variant_costs.grouped(12, 6, n_kv_heads, n=1, d_head=5)
    with remember(attention) as cache:
        for n_tokens in (4, 1):
            attention(rand(2, n_tokens, 12).to(dtype))
    assert cache.bytes == 2 * costs.cache_bytes(5, itemsize=dtype.itemsize)
    per_token = {name: wire[0, :, 0].numel() for name, wire in cache.items()}
    assert per_token == costs.cached


def test_multi_query_attention_keeps_one_head():
    with remember(MultiQueryAttention(12, 3)) as cache:
        pass
    assert (cache.n_tokens, cache.bytes, dict(cache)) == (0, 0, {})
    attention = MultiQueryAttention(12, 3)
    with remember(attention) as cache:
        attention(torch.zeros(5, 12))
    assert cache["k_heads"].shape == (1, 5, 4)
    assert repr(cache) == "Cache(5 tokens, 160 bytes: k_heads (1, 5, 4), v_heads (1, 5, 4))"


def test_shapes_can_be_asked_for_without_memory():
    with torch.device("meta"):
        attention = GroupedQueryAttention(4096, 32, 8, split=RotarySplit(32, Rotary(128), 8))
        with remember(attention, length=131_072) as cache:
            attention(torch.empty(1, 131_071, 4096), mask=masks.causal)
            attention(torch.empty(1, 1, 4096), mask=masks.causal)
    assert cache.bytes == 2 * variant_costs.grouped(4096, 32, 8, n=1).cache_bytes(131_072)


def test_a_forgotten_cache_starts_at_the_first_position():
    attention, x = rotary(), rand(2, 4, 12)
    with remember(attention) as cache:
        attention(rand(3, 2, 12))
        cache.forget()
        assert (cache.n_tokens, cache.bytes) == (0, 0)
        y = attention(x, mask=masks.causal)
    assert_close(y, attention(x, mask=masks.causal))


# --- sequences of different lengths ----------------------------------------------------------


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=3).filter(any),
    st.sampled_from([left_padded, right_padded]),
    st.integers(1, 3),
    st.sampled_from(sorted(BUILD)),
)
def test_ragged_prompts_then_tokens_are_as_if_alone(lengths, padded, n_later, kind):
    attention, positions = BUILD[kind](), padded(lengths)
    x, later = rand(*positions.shape, 12), rand(len(lengths), n_later, 12)
    with remember(attention) as cache:
        cache.announce(positions)
        attention(x, mask=masks.causal)
        steps = [attention(token, mask=masks.causal) for token in later.split(1, dim=1)]
    assert cache.positions.lengths.tolist() == [length + n_later for length in lengths]
    for item, row in enumerate(positions):
        alone = attention(torch.cat([x[item, row >= 0], later[item]]), mask=masks.causal)
        assert_close(torch.cat(steps, dim=1)[item], alone[-n_later:])


@each
def test_padding_on_both_sides_and_between_calls(attention):
    x, more = rand(2, 4, 12), rand(2, 2, 12)
    with remember(attention) as cache:
        cache.announce([[-1, 0, 1, -1], [0, 1, 2, 3]])
        first = attention(x, mask=masks.causal)
        cache.announce([[2, 3], [-1, 4]])
        second = attention(more, mask=masks.causal)
    alone = attention(torch.cat([x[0, 1:3], more[0]]), mask=masks.causal)
    assert_close(torch.cat([first[0, 1:3], second[0]]), alone)
    alone = attention(torch.cat([x[1], more[1, 1:]]), mask=masks.causal)
    assert_close(torch.cat([first[1], second[1, 1:]]), alone)


def test_padding_is_not_looked_at_even_without_a_mask():
    attention, x = mha(), rand(2, 3, 12)
    with remember(attention) as cache:
        cache.announce(left_padded([3, 1]))
        y = attention(x)
    assert_close(y[1, 2], attention(x[1, 2:])[0])
    assert_close(y[1, :2], torch.zeros(2, 12).double())


def test_one_row_of_positions_stands_for_every_sequence():
    attention, x = rotary(), rand(2, 3, 3, 12)
    with remember(attention) as cache:
        cache.announce([-1, 0, 1])
        y = attention(x, mask=masks.causal)
    assert_close(y[..., 1:, :], attention(x[..., 1:, :], mask=masks.causal))


# --- a window --------------------------------------------------------------------------------


@given(cuts(), st.integers(1, 4))
def test_a_window_keeps_one_token_less_than_it_is_wide(parts, window):
    attention, x, rule = mha(), rand(2, sum(parts), 12), masks.sliding_window(window)
    found, cache = decode(attention, x, parts, rule, window=window)
    assert_close(found, attention(x, mask=rule))
    assert cache.n_tokens == min(sum(parts), window - 1)


@each
def test_a_window_over_ragged_sequences(attention):
    x, later, rule = rand(2, 4, 12), rand(2, 3, 12), masks.sliding_window(2)
    with remember(attention, window=2) as cache:
        cache.announce(right_padded([4, 1]))
        attention(x, mask=rule)
        steps = [attention(token, mask=rule) for token in later.split(1, dim=1)]
    for item, n in enumerate((4, 1)):
        alone = attention(torch.cat([x[item, :n], later[item]]), mask=rule)
        assert_close(torch.cat(steps, dim=1)[item], alone[-3:])
    assert cache.n_tokens == 1


def test_a_window_makes_room_where_the_length_has_an_end():
    attention, x, rule = mha(), rand(9, 12), masks.sliding_window(3)
    found, _ = decode(attention, x, (1,) * 9, rule, length=3, window=3)
    assert_close(found, attention(x, mask=rule))


# --- trace and edit around and inside --------------------------------------------------------


@each
@pytest.mark.parametrize("inside", [True, False])
def test_a_trace_sees_all_tokens_and_one_set_of_sizes(attention, inside):
    x = rand(2, 6, 12)
    outer, inner = (remember, trace) if inside else (trace, remember)
    with outer(attention) as one, inner(attention) as other:
        wires = other if inside else one
        attention(x[:, :5], mask=masks.causal)
        assert (wires.sizes["query"], wires.sizes["key"]) == (5, 5)
        assert "new_key" not in wires.sizes
        y = attention(x[:, 5:], mask=masks.causal)
    assert (wires.sizes["query"], wires.sizes["new_key"], wires.sizes["key"]) == (1, 1, 6)
    assert list(wires.steps["k"].axes) == ["batch", "new_key", "d_kv_heads"]
    with trace(attention) as expected:
        whole = attention(x, mask=masks.causal)
    assert_close(y, whole[:, 5:])
    assert_close(wires["weights"], expected["weights"][..., 5:, :])
    for name in attention.split.cached:
        assert_close(wires[name], expected[name])


def double(value):
    return value * 2


@each
@pytest.mark.parametrize("inside", [True, False])
def test_an_edit_of_every_token_is_that_edit_of_one_pass(attention, inside):
    x = rand(2, 5, 12)
    wire = attention.split.cached[0]
    with edit(attention, wire, double):
        expected = attention(x, mask=masks.causal)
    if inside:
        with remember(attention), edit(attention, wire, double):
            found = [attention(part, mask=masks.causal) for part in x.split([3, 1, 1], dim=1)]
    else:
        with edit(attention, wire, double), remember(attention):
            found = [attention(part, mask=masks.causal) for part in x.split([3, 1, 1], dim=1)]
    assert_close(torch.cat(found, dim=1), expected)


def test_an_edit_inside_changes_what_is_remembered_and_one_outside_does_not():
    attention, x = mha(), rand(2, 4, 12)
    with remember(attention) as cache, edit(attention, "v_heads", torch.zeros_like):
        attention(x)
    assert not cache["v_heads"].any()
    with edit(attention, "v_heads", torch.zeros_like), remember(attention) as cache:
        assert not attention(x).any()
    assert cache["v_heads"].all()


def test_the_first_token_can_be_cut_in_every_call_from_outside():
    def without_first(value):
        return torch.cat([torch.zeros_like(value[..., :1, :]), value[..., 1:, :]], dim=-2)

    attention, x = mha(), rand(2, 4, 12)
    with edit(attention, "v_heads", without_first):
        expected = attention(x, mask=masks.causal)
        found, _ = decode(attention, x, (2, 1, 1), masks.causal)
    assert_close(found, expected)


@each
def test_nothing_is_left_when_the_block_ends_or_breaks(attention):
    with remember(attention):
        assert hooks(attention) > 0
    assert hooks(attention) == 0
    with pytest.raises(KeyError), remember(attention):
        raise KeyError
    assert hooks(attention) == 0
    with remember(attention), trace(attention), edit(attention, "z", double):
        attention(rand(2, 3, 12))
    assert hooks(attention) == 0


def test_an_attention_inside_a_model_remembers():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = mha()

        def forward(self, x):
            return x + self.attention(x, mask=masks.causal)

    block, x = Block(), rand(2, 4, 12)
    with remember(block):
        found = [block(part) for part in x.split([3, 1], dim=1)]
    assert_close(torch.cat(found, dim=1), block(x))


# --- bad input -------------------------------------------------------------------------------

BAD = {
    "another batch": (
        lambda attention, cache: attention(rand(3, 1, 12)),
        r"the cache holds sequences of batch \(2,\), but x has \(3,\); go on with",
    ),
    "more leading axes": (
        lambda attention, cache: attention(rand(2, 2, 1, 12)),
        r"the cache holds sequences of batch \(2,\), but x has \(2, 2\)",
    ),
    "another device": (
        lambda attention, cache: attention(rand(2, 1, 12).to("meta")),
        "the cache is on cpu, but x is on meta; move x, or start another cache there",
    ),
    "no room": (
        lambda attention, cache: attention(rand(2, 3, 12)),
        "the cache has room for 5 tokens of a sequence, 3 have come and 3 more come; give it a "
        "length of 6 or more",
    ),
    "a context": (
        lambda attention, cache: attention(rand(2, 1, 12), rand(2, 4, 12)),
        "a cache grows with x, but a context was given; keys of a fixed context do not change",
    ),
    "a wrong width": (
        lambda attention, cache: attention(rand(2, 1, 8)),
        r"x is 8 wide, shape \(2, 1, 8\), but d_model=12",
    ),
    "a mask that does not fit": (
        lambda attention, cache: attention(rand(2, 1, 12), mask=torch.ones(1, 9).bool()),
        r"mask \(1, 9\) does not fit scores \(2, 3, 1, 4\)",
    ),
}


@pytest.mark.bothways
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_call_says_so_and_leaves_the_cache_as_it_was(kind):
    call, words = BAD[kind]
    attention, x = mha(), rand(2, 4, 12)
    with remember(attention, length=5) as cache:
        first = attention(x[:, :3], mask=masks.causal)
        before = state(cache)
        with pytest.raises(ValueError, match=words):
            call(attention, cache)
        same(before, state(cache))
        last = attention(x[:, 3:], mask=masks.causal)
    assert_close(torch.cat([first, last], dim=1), attention(x, mask=masks.causal))


POSITIONS = {
    "a gap": (
        [[4], [3]],
        r"positions \[4\] do not continue a sequence of 3 tokens; they go on",
    ),
    "from the start again": (
        [[0], [3]],
        r"positions \[0\] do not continue a sequence of 3 tok",
    ),
    "a number that is none": ([[3], [-2]], r"positions \[-2\] do not continue a sequence of 3"),
    "too many": (
        [[3, 4], [3, 4]],
        r"positions \(2, 2\) were announced, but x has \(2, 1\) tok",
    ),
    "another batch": (
        [[3], [3], [3]],
        r"positions \(3, 1\) were announced, but x has \(2, 1\)",
    ),
    "more axes": (
        [[[3], [3]]],
        r"positions \(1, 2, 1\) were announced, but x has \(2, 1\) tok",
    ),
}


@pytest.mark.bothways
@pytest.mark.parametrize("kind", POSITIONS)
def test_positions_that_do_not_continue_are_refused_and_can_be_taken_back(kind):
    positions, words = POSITIONS[kind]
    attention, x = rotary(), rand(2, 4, 12)
    with remember(attention) as cache:
        attention(x[:, :3], mask=masks.causal)
        before = state(cache)
        cache.announce(positions)
        with pytest.raises(ValueError, match=words):
            attention(x[:, 3:], mask=masks.causal)
        same(before, state(cache))
        cache.announce(None)
        last = attention(x[:, 3:], mask=masks.causal)
    assert_close(last, attention(x, mask=masks.causal)[:, 3:])


def test_an_announcement_waits_for_the_call_that_succeeds():
    attention, x = rotary(), rand(2, 3, 12)
    with remember(attention) as cache:
        cache.announce(left_padded([3, 1]))
        with pytest.raises(TypeError, match="bool"):
            attention(x, mask=torch.ones(3, 3))
        y = attention(x, mask=masks.causal)
    assert_close(y[1, 2], attention(x[1, 2:])[0])


@pytest.mark.bothways
@pytest.mark.parametrize("positions", [[[0.5]], [[True]], 3])
def test_positions_are_whole_numbers(positions):
    with (
        remember(mha()) as cache,
        pytest.raises(TypeError, match="positions are whole numbers"),
    ):
        cache.announce(positions)


@pytest.mark.bothways
def test_another_precision_is_refused_before_anything_is_kept():
    attention = mha()
    with remember(attention) as cache:
        attention(rand(2, 3, 12))
        before = state(cache)
        words = "the cache holds 'k_heads' in torch.float64, but now it is torch.float32; go on"
        with pytest.raises(ValueError, match=words):
            attention.float()(rand(2, 1, 12).float())
        same(before, state(cache))
        attention.double()(rand(2, 1, 12))
    assert cache.n_tokens == 4


def test_a_call_that_breaks_after_the_keys_are_made_keeps_nothing():
    def broken(value):
        raise RuntimeError("broken")

    attention, x = mha(), rand(2, 4, 12)
    with remember(attention) as cache:
        attention(x[:, :2], mask=masks.causal)
        before = state(cache)
        for wire in ("v_heads", "weights", "concat"):
            with edit(attention, wire, broken), pytest.raises(RuntimeError, match="broken"):
                attention(x[:, 2:], mask=masks.causal)
            same(before, state(cache))
        y = attention(x[:, 2:], mask=masks.causal)
    assert_close(y, attention(x, mask=masks.causal)[:, 2:])


@pytest.mark.bothways
def test_two_caches_of_one_attention_are_refused():
    attention = mha()
    words = "MultiHeadAttention remembers already; use the cache of the with block around"
    with remember(attention), pytest.raises(ValueError, match=words), remember(attention):
        pass
    assert hooks(attention) == 0


@pytest.mark.bothways
@pytest.mark.parametrize("option", ["length", "window"])
def test_room_for_nothing_is_refused(option):
    words = f"{option}=0 is not a size; it must be at least 1"
    with pytest.raises(ValueError, match=words), remember(mha(), **{option: 0}):
        pass


@pytest.mark.bothways
def test_a_model_without_our_attention_is_refused():
    with pytest.raises(ValueError, match="holds no stages"), remember(nn.Linear(2, 2)):
        pass


def test_the_attention_may_be_given_itself_as_context():
    attention, x = mha(), rand(2, 4, 12)
    with remember(attention):
        found = [attention(part, part, masks.causal) for part in x.split([3, 1], dim=1)]
    assert_close(torch.cat(found, dim=1), attention(x, mask=masks.causal))


def test_both_pairings_can_be_remembered():
    split = RotarySplit(3, Rotary(4, pairing=HALVES))
    attention, x = mha(split=split), rand(2, 4, 12)
    found, _ = decode(attention, x, (1, 2, 1), masks.causal)
    assert_close(found, attention(x, mask=masks.causal))


# --- attentions that do not say what to keep -------------------------------------------------


class PlainSplit(nn.Module):
    """Cuts into heads, and is no stage."""

    def forward(self, q, k, v):
        return tuple(t.unflatten(-1, (3, -1)).transpose(-2, -3) for t in (q, k, v))


class NothingKept(Split):
    cached = ()


class KeysKept(Split):
    cached = ("k_heads",)


class Past(nn.Module):
    """Has a split, and hands on keys that it did not make."""

    def __init__(self):
        super().__init__()
        self.split, self.other = Split(3), Split(3)
        self.other.cached = ()

    def forward(self, q, k, v):
        return (self.split(q, k, v)[0], *self.other(q, k, v)[1:])


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.split, self.other = Split(3), Split(3)

    def forward(self, q, k, v):
        return (self.split(q, k, v)[0], *self.other(q, k, v)[1:])


class Hidden(MultiHeadAttention):
    """Calls its tokens by another name."""

    def forward(self, hidden, context=None, mask=None):
        return super().forward(hidden, context, mask)


class Maskless(Attend):
    def forward(self, q, k, v, allowed=None):
        return super().forward(q, k, v, allowed)


class Lazy(MultiHeadAttention):
    """Leaves its split out."""

    def forward(self, x, context=None, mask=None):
        return self.W_O(self.project(x, x)[0])


AT_ONCE = {
    "a split that is no stage": (
        lambda: mha(split=PlainSplit()),
        "split=PlainSplit is no Stage and holds none, so nothing says which of its values",
    ),
    "no cached wires": (
        lambda: mha(split=NothingKept(3)),
        "no stage of MultiHeadAttention says what to keep; name the wires that later tokens",
    ),
    "another name for x": (
        lambda: Hidden(12, 3),
        r"remember finds no attention that takes 'x' in Hidden; it needs forward\(x, context",
    ),
    "attend without a mask": (
        lambda: mha(attend=Maskless(0.5)),
        "remember finds no attend that takes 'mask' in MultiHeadAttention",
    ),
    "a single stage": (lambda: Split(3), "remember finds no attention that takes 'x' in Split"),
}


@pytest.mark.bothways
@pytest.mark.parametrize("name", AT_ONCE)
def test_what_does_not_say_how_it_decodes_is_refused_at_once(name):
    make, words = AT_ONCE[name]
    attention = make()
    with pytest.raises(TypeError, match=words), remember(attention):
        pass
    assert hooks(attention) == 0


IN_THE_CALL = {
    "values alone are not kept": (
        lambda: mha(split=KeysKept(3)),
        "attend got keys or values of 1 tokens, but there are 4 with the cache's; name what",
    ),
    "keys go past the cache": (
        lambda: mha(split=Past()),
        "attend got keys or values of 1 tokens, but there are 4 with the cache's; name what",
    ),
    "a wire is made twice": (
        lambda: mha(split=Twice()),
        "wire 'k_heads' was made twice in one pass; a cache keeps one of each name",
    ),
    "a wire is not made": (
        lambda: Lazy(12, 3).double(),
        "the pass did not make k_heads, v_heads, so the cache would have a gap",
    ),
}


@pytest.mark.bothways
@pytest.mark.parametrize("name", IN_THE_CALL)
def test_what_goes_past_the_cache_is_refused(name):
    make, words = IN_THE_CALL[name]
    attention = make()
    at_first = name.startswith("a wire")
    with remember(attention) as cache:
        if not at_first:
            attention(rand(2, 3, 12), mask=masks.causal)
        before = state(cache)
        with pytest.raises(ValueError, match=words):
            attention(rand(2, 1, 12), mask=masks.causal)
        same(before, state(cache))


@pytest.mark.bothways
def test_a_stage_called_alone_in_the_block_is_refused():
    attention, x = mha(), rand(2, 3, 12)
    words = "a stage of MultiHeadAttention runs outside its pass, so the cache misses it; call"
    with remember(attention) as cache:
        attention(x)
        for _ in range(2):
            with pytest.raises(RuntimeError, match=words):
                attention.forward(x)
            with pytest.raises(TypeError, match="bool"):
                attention(x, mask=torch.ones(3, 6))
        assert cache.n_tokens == 3


@each
def test_gradients_flow_through_a_reorder(attention):
    x, later = rand(2, 3, 12).requires_grad_(), rand(3, 1, 12)
    with remember(attention) as cache:
        attention(x, mask=masks.causal)
        cache.reorder([1, 1, 0])
        attention(later, mask=masks.causal).square().sum().backward()
    found, x.grad = x.grad, None
    whole = attention(torch.cat([x[[1, 1, 0]], later], dim=1), mask=masks.causal)
    whole[:, -1].square().sum().backward()
    assert_close(found, x.grad)


# --- a pass that is no call ------------------------------------------------------------------


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_pass_that_a_checkpoint_repeats_is_refused(reentrant):
    attention, x = mha(), rand(2, 5, 12).requires_grad_()
    with remember(attention) as cache:
        y = checkpoint(attention, x, None, masks.causal, use_reentrant=reentrant)
        with pytest.raises(RuntimeError, match="a checkpoint computes a pass of Multi"):
            y.sum().backward()
    assert cache.lengths == [5, 5]


def test_a_call_that_torch_func_transforms_alone_is_refused():
    attention, x = mha(), rand(2, 5, 12)
    with remember(attention) as cache:
        with pytest.raises(
            RuntimeError, match=r"torch\.func or forward mode surrounds this call"
        ):
            torch.func.vmap(attention)(x)
        attention(x)
    assert cache.lengths == [5, 5]


def test_a_block_inside_of_what_is_transformed_remembers():
    attention, x = mha(), rand(2, 5, 12)

    def in_parts(one):
        with remember(attention):
            return torch.cat([attention(part, mask=masks.causal) for part in one.split([3, 2])])

    assert_close(torch.func.vmap(in_parts)(x), attention(x, mask=masks.causal))
