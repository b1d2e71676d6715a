"""Padding: positions of a call, given with the block, around the call, or in it."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mhsa_lib import KVCache, kv_cache, masks
from tests.helpers.drawn import mha, rand
from tests.helpers.padded import left_padded, right_padded
from tests.mhsa_lib.cache.comparing import as_if_alone, assert_close, kept
from tests.mhsa_lib.cache.heads import KV_HEADS, build
from tests.mhsa_lib.cache.kinds import BUILD, each, rotary


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=3).filter(any),
    st.sampled_from([left_padded, right_padded]),
    st.integers(1, 3),
    st.sampled_from(sorted(BUILD)),
)
def test_ragged_prompts_then_tokens_are_as_if_alone(lengths, padded, n_later, kind):
    attention, positions = BUILD[kind](), padded(lengths)
    x, later = rand(*positions.shape, 12), rand(len(lengths), n_later, 12)
    with kv_cache(attention, positions) as cache:
        attention(x, mask=masks.causal)
        steps = [attention(token, mask=masks.causal) for token in later.split(1, dim=1)]
    assert cache.lengths == [length + n_later for length in lengths]
    for item, row in enumerate(positions):
        alone = attention(torch.cat([x[item, row >= 0], later[item]]), mask=masks.causal)
        assert_close(torch.cat(steps, dim=1)[item], alone[-n_later:])


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
    cache = KVCache(20, window)
    for lengths, n_tokens in calls:
        x, token = rand(2, n_tokens, 12), rand(2, 1, 12)
        start = torch.tensor(cache.lengths or [0, 0])[:, None]
        positions = right_padded(lengths, n_tokens)
        with cache.at(torch.where(positions < 0, -1, positions + start)):
            y = fused(x, mask=masks.causal, cache=cache)
        later = fused(token, cache=cache)
        for item, length in enumerate(lengths):
            texts[item] += [x[item, :length], token[item]]
            found[item] += [y[item, :length], later[item]]
            assert_close(y[item, length:], fused.W_O.bias.expand(n_tokens - length, -1))
    rule = masks.causal if window is None else masks.sliding_window(window)
    for text, y in zip(texts, found, strict=True):
        assert_close(torch.cat(y), fused(torch.cat(text)[None], mask=rule)[0])
    assert cache.lengths == [sum(map(len, text)) for text in texts]


@each
def test_padding_on_both_sides_and_between_calls(attention):
    x, more = rand(2, 4, 12), rand(2, 2, 12)
    with kv_cache(attention, [[-1, 0, 1, -1], [0, 1, 2, 3]]) as cache:
        first = attention(x, mask=masks.causal)
        with cache.at([[2, 3], [-1, 4]]):
            second = attention(more, mask=masks.causal)
    alone = attention(torch.cat([x[0, 1:3], more[0]]), mask=masks.causal)
    assert_close(torch.cat([first[0, 1:3], second[0]]), alone)
    alone = attention(torch.cat([x[1], more[1, 1:]]), mask=masks.causal)
    assert_close(torch.cat([first[1], second[1, 1:]]), alone)


def test_padding_takes_no_room_and_may_be_anything(kind):
    x = rand(2, 4, 12)
    x[1, 2:] = float("nan")
    kind.open(length=4).call(x[:, :3], positions=right_padded([3, 2]))
    later = kind.call(x[:, :1])
    assert kind.cache.lengths == [4, 3]
    as_if_alone(kind, [torch.cat([x[0, :3], x[0, :1]]), torch.cat([x[1, :2], x[1, :1]])], later)


def test_one_row_of_positions_serves_every_sequence():
    attention, x = rotary(), rand(2, 3, 3, 12)
    with kv_cache(attention, [-1, 0, 1]) as cache:
        y = attention(x, mask=masks.causal)
    assert cache.lengths == [[2, 2, 2]] * 2
    assert_close(y[..., 1:, :], attention(x[..., 1:, :], mask=masks.causal))


def test_a_tensor_is_about_positions_also_after_padding():
    """Keys are the tokens of each sequence in order, wherever its padding was."""
    attention, x, later = mha(), rand(2, 3, 12), rand(2, 1, 12)
    mask = torch.tensor([True, False, True, True])
    with kv_cache(attention, left_padded([3, 1])):
        attention(x, mask=masks.causal)
        y = attention(later, mask=mask)
    long = attention(
        torch.cat([x[0], later[0]]), mask=mask.expand(4, 4) & masks.causal.dense(4, 4)
    )
    short = attention(torch.cat([x[1, 2:], later[1]]), mask=torch.tensor([True, False]))
    assert_close(y[:, 0], torch.stack([long[-1], short[-1]]))


POSITIONS = {
    "a gap": (
        [[4], [3]],
        r"positions \[4\] do not continue a sequence of 3 tokens; its next",
    ),
    "from the start again": ([[0], [3]], r"positions \[0\] do not continue a sequence of 3"),
    "no number": ([[3], [-2]], r"positions \[-2\] do not continue a sequence of 3 tokens"),
    "too many": (
        [[3, 4], [3, 4]],
        r"positions \(2, 2\) were given, but x has \(2, 1\) tok",
    ),
    "another batch": ([[3]] * 3, r"positions \(3, 1\) were given, but x has \(2, 1\)"),
    "more axes": ([[[3], [3]]], r"positions \(1, 2, 1\) were given, but x has \(2, 1\) tok"),
}


@pytest.mark.bothways
@pytest.mark.parametrize("name", POSITIONS)
def test_positions_that_do_not_continue_are_refused(kind, name):
    positions, words = POSITIONS[name]
    x = rand(2, 4, 12)
    first = kind.open().call(x[:, :3])
    before = kept(kind.cache)
    with pytest.raises(ValueError, match=words):
        kind.call(x[:, 3:], positions=positions)
    assert kept(kind.cache) == before
    assert_close(torch.cat([first, kind.call(x[:, 3:])], dim=1), kind.alone(x))


@pytest.mark.bothways
@pytest.mark.parametrize("positions", [[[0.5]], [[True]], 3])
def test_positions_are_whole_numbers(positions):
    words = "positions are whole numbers, one for each"
    with pytest.raises(TypeError, match=words), KVCache().at(positions):
        pass
    with pytest.raises(TypeError, match=words), kv_cache(mha(), positions):
        pass


def test_the_positions_of_a_block_are_those_of_the_first_call_that_succeeds():
    attention, x = rotary(), rand(2, 3, 12)
    with kv_cache(attention, left_padded([3, 1])) as cache:
        with pytest.raises(TypeError, match="bool"):
            attention(x, mask=torch.ones(3, 3))
        y = attention(x, mask=masks.causal)
        attention(x[:, :1])
    assert cache.lengths == [4, 2]
    assert_close(y[1, 2], attention(x[1, 2:], mask=masks.causal)[0])
