"""What a predicate states about itself is true of every pair, and survives composition."""

import functools
import operator

import torch
from hypothesis import given
from hypothesis import strategies as st

from mhsa_lib import masks
from mhsa_lib.masks.structure import UNKNOWN, Band

lengths = st.lists(st.integers(0, 8), min_size=2, max_size=2)
parts = st.one_of(
    st.sampled_from([masks.causal, ~masks.causal, masks.custom(lambda q, k: (q + k) % 2 == 0)]),
    st.tuples(st.sampled_from([masks.sliding_window, masks.prefix]), st.integers(1, 5)),
    st.tuples(st.sampled_from([masks.padding, masks.key_padding]), lengths),
    st.tuples(
        st.just(masks.documents),
        st.lists(st.lists(st.integers(-1, 2), min_size=6, max_size=6), min_size=2, max_size=2),
    ),
)


def predicate(part):
    return part if isinstance(part, masks.Predicate) else part[0](part[1])


def stated(predicate, n_query, n_key):
    """The boolean tensor that the structure alone describes."""
    structure = predicate.structure
    query, key = torch.arange(n_key - n_query, n_key)[:, None], torch.arange(n_key)
    allowed = structure.band.allows(query, key).expand(2, 1, n_query, n_key)
    for lengths, position in ((structure.key_lengths, key), (structure.query_lengths, query)):
        if lengths is not None:
            allowed = allowed & (position < torch.tensor(lengths)[:, None, None, None])
    return allowed


@given(st.lists(parts, min_size=1, max_size=3), st.integers(1, 6), st.integers(1, 6))
def test_nothing_outside_of_the_reach_is_allowed(parts, n_query, n_key):
    both = functools.reduce(operator.and_, map(predicate, parts))
    allowed, limits = both.dense(n_query, n_key), stated(both, n_query, n_key)
    assert not (allowed & ~limits).any()
    if both.structure.exact:
        assert torch.equal(allowed.expand_as(limits), limits)


def test_what_can_be_known_is_known():
    assert masks.causal.structure.exact
    assert (masks.causal & masks.padding([3, 2])).structure.exact
    assert masks.sliding_window(3).structure.band == Band(ahead=0, behind=2)
    assert (masks.sliding_window(3) & masks.sliding_window(2)).structure.band.behind == 1
    assert (masks.padding([3, 5]) & masks.padding([4, 2])).structure.key_lengths == (3, 2)


def test_what_cannot_be_known_is_not_claimed():
    rule = masks.custom(lambda query, key: query == key)
    assert rule.structure == UNKNOWN
    assert (masks.causal | masks.prefix(2)).structure == UNKNOWN
    assert (~masks.causal).structure == UNKNOWN
    assert not (masks.causal & rule).structure.exact
    assert (masks.causal & rule).structure.band == Band(ahead=0)
    assert not (masks.padding([1, 2]) & masks.padding([1, 2, 3])).structure.exact
    assert not masks.padding(torch.tensor([[1], [2]])).structure.exact


@given(
    st.builds(Band, st.sampled_from([None, 0, 2]), st.sampled_from([None, 0, 2])),
    st.integers(0, 5),
    st.integers(1, 4),
    st.integers(1, 7),
)
def test_the_keys_of_some_queries_hold_all_that_each_may_see(band, first, n, n_key):
    low, high = band.keys(first, first + n, n_key)
    query, key = torch.arange(first, first + n)[:, None], torch.arange(n_key)
    seen = band.allows(query, key).any(dim=0).nonzero().flatten().tolist()
    assert set(seen) <= set(range(low, high))
