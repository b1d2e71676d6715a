"""Attentions that do not say what to keep, or go past what is kept, are refused."""

import pytest
import torch
from torch import nn

from mhsa_lib import MultiHeadAttention, masks
from mhsa_lib.cache import kv_cache
from mhsa_lib.stages import Attend, Split
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.cache.comparing import kept
from tests.mhsa_lib.cache.kinds import hooks


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
        r"its stages name \[\], and no Stage is \['PlainSplit'\]",
    ),
    "no cached wires": (
        lambda: mha(split=NothingKept(3)),
        r"in cached what later tokens need, as Split does .* its stages name \[\], and",
    ),
    "another name for x": (
        lambda: Hidden(12, 3),
        r"kv_cache needs forward\(x, context, .*; Hidden takes \['hidden', 'context', 'mask'\]",
    ),
    "attend without a mask": (
        lambda: mha(attend=Maskless(0.5)),
        r"needs .* attend\(q, k, v, mask\), .*, its attend \['q', 'k', 'v', 'allowed'\]",
    ),
    "a single stage": (lambda: Split(3), r"Split takes \['q', 'k', 'v'\], its attend \[\]"),
}


@pytest.mark.bothways
@pytest.mark.parametrize("name", AT_ONCE)
def test_what_does_not_say_how_it_decodes_is_refused_at_once(name):
    make, words = AT_ONCE[name]
    attention = make()
    with pytest.raises(TypeError, match=words), kv_cache(attention):
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
        r"wire 'k_heads' came as .*, but the cache takes it as .*, once",
    ),
    "a wire is not made": (
        lambda: Lazy(12, 3).double(),
        "the pass made 0 wires, the cache keeps 0, and they differ in nothing, so it would",
    ),
}


@pytest.mark.bothways
@pytest.mark.parametrize("name", IN_THE_CALL)
def test_what_goes_past_the_cache_is_refused(name):
    make, words = IN_THE_CALL[name]
    attention = make()
    at_first = name.startswith("a wire")
    with kv_cache(attention) as cache:
        if not at_first:
            attention(rand(2, 3, 12), mask=masks.causal)
        before = kept(cache)
        with pytest.raises(ValueError, match=words):
            attention(rand(2, 1, 12), mask=masks.causal)
        assert kept(cache) == before


@pytest.mark.bothways
def test_a_stage_called_alone_in_the_block_is_refused():
    attention, x = mha(), rand(2, 3, 12)
    words = "a stage of MultiHeadAttention runs outside its pass, so the cache misses it; call"
    with kv_cache(attention) as cache:
        attention(x, mask=masks.causal)
        for _ in range(2):
            with pytest.raises(RuntimeError, match=words):
                attention.forward(x)
            with pytest.raises(TypeError, match="bool"):
                attention(x, mask=torch.ones(3, 6))
        assert cache.n_tokens == 3
