"""An announcement of positions waits for the call that succeeds."""

import pytest
import torch

from mhsa_lib.fused.latent import FusedLatentAttention
from tests.helpers.drawn import rand
from tests.mhsa_lib.cache.contract.caches import fused, latent
from tests.mhsa_lib.cache.contract.comparing import as_if_alone, assert_close, kept

LATER = {
    "a context": (
        lambda k, x: k.call(x, context=rand(2, 4, 12)),
        ValueError,
        "a context was given",
    ),
    "a mask of numbers": (lambda k, x: k.call(x, torch.ones(2, 5)), TypeError, "not bool"),
    "another dtype": (lambda k, x: k.call(x.float()), ValueError, "torch.float32"),
    "another batch": (lambda k, x: k.call(x[:1]), ValueError, r"but x has \(1,\)"),
}


@pytest.mark.bothways
@pytest.mark.parametrize("name", LATER)
def test_an_announcement_waits_for_the_call_that_succeeds(kind, name):
    """The call again is what the first would have been."""
    call, error, words = LATER[name]
    x = rand(2, 5, 12)
    kind.open(2).call(x[:, :3])
    kind.cache.announce([[3, 4], [3, -1]])
    with pytest.raises(error, match=words):
        call(kind, x[:, 3:])
    y = kind.call(x[:, 3:])
    assert kind.cache.lengths == [5, 4]
    as_if_alone(kind, [x[0], x[1, :4]], [y[0], y[1, :1]])


@pytest.mark.bothways
def test_an_announcement_can_be_taken_back(kind):
    x = rand(2, 4, 12)
    kind.open(2).call(x[:, :3])
    kind.cache.announce([[3], [-1]])
    kind.cache.announce(None)
    kind.call(x[:, 3:])
    assert kind.cache.lengths == [4, 4]


POSITIONS = {
    "a gap": (
        [[4], [3]],
        r"positions \[4\] do not continue a sequence of 3 tokens; they go on",
    ),
    "no number": ([[3], [-2]], r"positions \[-2\] do not continue a sequence of 3 tokens"),
    "too many": (
        [[3, 4], [3, 4]],
        r"positions \(2, 2\) were announced, but x has \(2, 1\) tok",
    ),
    "another batch": ([[3]] * 3, r"positions \(3, 1\) were announced, but x has \(2, 1\)"),
}


@pytest.mark.bothways
@pytest.mark.parametrize("name", POSITIONS)
def test_an_announcement_that_does_not_fit_is_refused_until_another_is_made(kind, name):
    positions, words = POSITIONS[name]
    x = rand(2, 4, 12)
    first = kind.open(2).call(x[:, :3])
    before = kept(kind.cache)
    kind.cache.announce(positions)
    for _ in range(2):  # dropped after the first, it would let padding count as tokens
        with pytest.raises(ValueError, match=words):
            kind.call(x[:, 3:])
    assert kept(kind.cache) == before
    kind.cache.announce(None)
    assert_close(torch.cat([first, kind.call(x[:, 3:])], dim=1), kind.alone(x))


@pytest.mark.bothways
@pytest.mark.parametrize("positions", [[[0.5]], [[True]], 3])
def test_positions_are_whole_numbers(kind, positions):
    with pytest.raises(TypeError, match="positions are whole numbers, one for each"):
        kind.open(1).cache.announce(positions)


@pytest.mark.bothways
@pytest.mark.parametrize("make", [fused, lambda: FusedLatentAttention.from_attention(latent())])
def test_lengths_and_an_announcement_do_not_go_together(make):
    attention, x = make(), rand(2, 2, 12)
    cache = attention.cache(2, 4)
    cache.announce([[0, 1], [0, -1]])
    with pytest.raises(ValueError, match="positions were announced for this call, and lengths"):
        attention.prefill(x, cache, [2, 1])
    attention.prefill(x, cache)
    assert cache.lengths == [2, 1]
