"""Draft tokens that were rejected are dropped, and the text goes on as if they had not come."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mhsa_lib import KVCache, kv_cache, masks
from tests.helpers.drawn import rand
from tests.helpers.padded import right_padded
from tests.mhsa_lib.cache.caches import CACHES
from tests.mhsa_lib.cache.comparing import as_if_alone, assert_close, kept
from tests.mhsa_lib.cache.kinds import rotary


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 4)), min_size=1, max_size=4))
def test_drafts_and_rejections_are_one_pass_over_what_was_accepted(rounds):
    """Every round brings some tokens, of which some are dropped."""
    for name in ("stages, growing", "stages, allocated", "fused, allocated"):
        kind, text, found = CACHES[name]().open(length=20), [], []
        for n_drafts, n_rejected in rounds:
            draft, n_kept = rand(1, n_drafts, 12), max(0, n_drafts - n_rejected)
            found.append(kind.call(draft)[:, :n_kept])
            text.append(draft[:, :n_kept])
            kind.cache.crop(kind.cache.n_tokens - (n_drafts - n_kept))
        x = torch.cat(text, dim=1)
        assert kind.cache.lengths == [x.shape[1]]
        assert_close(torch.cat(found, dim=1), kind.alone(x))


def test_every_sequence_may_reject_its_own_number(kind):
    x, later = rand(2, 4, 12), rand(2, 2, 12)
    kind.open().call(x)
    kind.cache.crop([1, 3])
    assert kind.cache.lengths == [1, 3]
    found = kind.call(later)
    as_if_alone(kind, [torch.cat([x[0, :1], later[0]]), torch.cat([x[1, :3], later[1]])], found)


def test_numbers_that_were_dropped_harm_nobody(kind):
    x, later = rand(2, 4, 12), rand(2, 1, 12)
    bad = x.clone()
    bad[1, 2:] = float("nan")
    kind.open().call(bad)
    kind.cache.crop([4, 2])
    found = kind.call(later)
    as_if_alone(kind, [torch.cat([x[0], later[0]]), torch.cat([x[1, :2], later[1]])], found)


def test_what_is_not_longer_stays(kind):
    x = rand(2, 4, 12)
    kind.open().call(x[:, :3], positions=right_padded([3, 1]))
    before = kept(kind.cache)
    kind.cache.crop(3)
    kind.cache.crop(9)
    assert kept(kind.cache) == before
    kind.cache.crop(0)
    assert kind.cache.lengths == [0, 0]
    assert_close(kind.call(x), kind.alone(x))


def test_a_layer_that_is_ahead_is_taken_back():
    """When the second of two layers fails, the first has a token that does not count."""
    layers, x = [rotary(), rotary()], rand(1, 4, 12)

    def model(x):
        for layer in layers:
            x = layer(x, mask=masks.causal)
        return x

    with kv_cache(layers[0]) as first, kv_cache(layers[1]) as second:
        model(x[:, :3])
        handle = layers[1].W_O.register_forward_pre_hook(lambda *args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            model(x[:, 3:])
        handle.remove()
        assert (first.n_tokens, second.n_tokens) == (4, 3)
        first.crop(3)
        found = model(x[:, 3:])
    assert_close(found, model(x)[:, 3:])


def test_a_ring_is_cropped_until_it_is_full(kind):
    x = rand(2, 5, 12)
    kind.open(window=4).call(x[:, :3])
    kind.cache.crop(1)
    y = kind.call(x[:, 1:])
    before = kept(kind.cache)
    words = "a window of 4 has overwritten tokens that a text cropped to 4 would see again"
    with pytest.raises(ValueError, match=words):
        kind.cache.crop(4)
    assert kept(kind.cache) == before
    assert_close(y, kind.alone(x)[:, 1:])


@pytest.mark.bothways
@pytest.mark.parametrize("length", [-1, [1, 2, 3], [2, -1], [1.5, 1]], ids=str)
def test_lengths_that_are_none_are_refused(kind, length):
    kind.open().call(rand(2, 3, 12))
    before = kept(kind.cache)
    words = "does not crop 2 sequences; give one length|whole numbers"
    with pytest.raises((ValueError, TypeError), match=words):
        kind.cache.crop(length)
    assert kept(kind.cache) == before


def test_an_empty_cache_can_be_cropped():
    cache = KVCache()
    cache.crop(3)
    assert cache.n_tokens == 0
