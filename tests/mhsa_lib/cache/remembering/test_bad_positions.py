"""Positions are announced for the next call that succeeds, and have to continue the text."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_lib import masks
from mhsa_lib.cache.positions import left_padded
from mhsa_lib.cache.remembering import remember
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.cache.remembering.kinds import rotary
from tests.mhsa_lib.cache.remembering.unchanged import same, state

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
