"""Sequences in another order go on from those they were."""

import pytest
import torch

from mhsa_lib import kv_cache, masks
from tests.helpers.drawn import rand
from tests.helpers.padded import right_padded
from tests.mhsa_lib.cache.caches import rotary
from tests.mhsa_lib.cache.comparing import as_if_alone, assert_close, kept


@pytest.mark.parametrize("window", [None, 2])
def test_a_reordered_sequence_goes_on_from_the_one_it_was(kind, window):
    """Positions and lengths move along, of padded sequences too."""
    lengths, order = [4, 1, 2], [2, 2, 0]
    positions, x, later = right_padded(lengths), rand(3, 4, 12), rand(3, 3, 12)
    kind.open(window=window).call(x, positions=positions)
    kind.cache.reorder(order)
    assert kind.cache.lengths == [2, 2, 4]
    steps = torch.cat([kind.call(token) for token in later.split(1, dim=1)], dim=1)
    assert kind.cache.lengths == [5, 5, 7]
    texts = [torch.cat([x[j, : lengths[j]], later[i]]) for i, j in enumerate(order)]
    as_if_alone(kind, texts, steps)


def test_an_order_may_be_a_tensor_and_the_same_order_changes_nothing(kind):
    x = rand(2, 4, 12)
    first = kind.open().call(x[:, :3])
    before = kept(kind.cache)
    kind.cache.reorder(torch.tensor([0, 1], dtype=torch.int32))
    assert kept(kind.cache) == before
    assert_close(torch.cat([first, kind.call(x[:, 3:])], dim=1), kind.alone(x))


BAD_ORDERS = {
    "too high": (
        [0, 2],
        ValueError,
        r"order=\[0, 2\] does not choose from 2 sequences of .*numbers below 2",
    ),
    "below zero": ([0, -1], ValueError, r"order=\[0, -1\] does not choose from 2 sequences"),
    "of none": (torch.zeros(0).long(), ValueError, r"order=\[\] does not choose from 2 seq"),
    "more axes": ([[0, 1]], ValueError, r"order=\[\[0, 1\]\] does not choose from 2 seq"),
    "no axis": (1, TypeError, "order are whole numbers, one for each"),
    "halves": ([0.0, 1.0], TypeError, "order are whole numbers, one for each"),
    "nothing": (None, TypeError, "order are whole numbers, one for each, not None"),
    "a choice": ([True, False], TypeError, "order are whole numbers, one for each"),
}


@pytest.mark.bothways
@pytest.mark.parametrize("name", BAD_ORDERS)
def test_an_order_that_is_none_is_refused(kind, name):
    order, error, words = BAD_ORDERS[name]
    kind.open().call(rand(2, 3, 12))
    before = kept(kind.cache)
    with pytest.raises(error, match=words):
        kind.cache.reorder(order)
    assert kept(kind.cache) == before


@pytest.mark.bothways
def test_a_reorder_at_the_wrong_moment_is_refused(kind):
    kind.open()
    with pytest.raises(ValueError, match=r"does not choose from 0 sequences .*; after a call"):
        kind.cache.reorder([0, 1])
    kind.call(rand(2, 3, 12))
    kind.call(rand(2, 1, 12), positions=[[3], [-1]])
    kind.cache.reorder([1, 0])
    assert kind.cache.lengths == [3, 4]
    kind.cache.reset()
    with pytest.raises(ValueError, match="does not choose from 0 sequences"):
        kind.cache.reorder([0, 1])


@pytest.mark.bothways
def test_where_memory_grows_sequences_may_become_more_and_where_it_is_allocated_not(kind):
    x, later = rand(2, 3, 12), rand(3, 2, 12)
    kind.open().call(x)
    if not kind.grows:
        words = "does not choose from 2 sequences .* allocated memory as many as there are"
        with pytest.raises(ValueError, match=words):
            kind.cache.reorder([1, 1, 0])
        return
    kind.cache.reorder([1, 1, 0])
    assert kind.cache.lengths == [3, 3, 3]
    found = kind.call(later)
    as_if_alone(kind, [torch.cat([x[j], later[i]]) for i, j in enumerate((1, 1, 0))], found)


@pytest.mark.bothways
@pytest.mark.parametrize("batch", [(), (2, 2)])
def test_several_leading_axes_or_none_are_not_reordered(batch):
    attention = rotary()
    with kv_cache(attention) as cache:
        attention(rand(*batch, 3, 12), mask=masks.causal)
        with pytest.raises(ValueError, match=r"does not choose .* with one leading axis"):
            cache.reorder([0, 1])
