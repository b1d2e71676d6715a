"""Sequences of different lengths: each is decoded as if it were alone."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from mhsa_lib import masks
from mhsa_lib.cache.positions import left_padded, right_padded
from mhsa_lib.cache.remembering import remember
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.cache.remembering.kinds import BUILD, each, rotary


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


def test_padding_is_not_looked_at_under_a_mask_that_does_not_know_it():
    attention, x = mha(), rand(2, 3, 12)
    with remember(attention) as cache:
        cache.announce(left_padded([3, 1]))
        y = attention(x, mask=masks.key_padding([3, 3]))
    assert_close(y[1, 2], attention(x[1, 2:])[0])
    assert_close(y[1, :2], torch.zeros(2, 12).double())


def test_one_row_of_positions_stands_for_every_sequence():
    attention, x = rotary(), rand(2, 3, 3, 12)
    with remember(attention) as cache:
        cache.announce([-1, 0, 1])
        y = attention(x, mask=masks.causal)
    assert_close(y[..., 1:, :], attention(x[..., 1:, :], mask=masks.causal))
