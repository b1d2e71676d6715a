"""A call that does not fit the memory that was taken says so and leaves it as it was."""

from copy import deepcopy

import pytest
import torch

from mhsa_lib import masks
from tests.helpers.drawn import rand
from tests.mhsa_lib.cache.static.heads import assert_close, build

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
