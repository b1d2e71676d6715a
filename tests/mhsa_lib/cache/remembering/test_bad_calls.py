"""A call that cannot be remembered says so and leaves no trace."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_lib import edit, masks
from mhsa_lib.cache.remembering import remember
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.cache.remembering.unchanged import hooks, same, state

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


@pytest.mark.bothways
def test_another_precision_is_refused_before_anything_is_kept():
    attention = mha()
    with remember(attention) as cache:
        attention(rand(2, 3, 12), mask=masks.causal)
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
