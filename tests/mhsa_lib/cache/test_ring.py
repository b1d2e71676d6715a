"""Which slots the tokens of a call take, and what they may look at there."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mhsa_lib import masks
from mhsa_lib.cache.positions import left_padded, right_padded
from mhsa_lib.cache.ring import RingIndex

CPU = torch.device("cpu")


def call(ring, n_tokens, positions=None):
    ring.announce(positions)
    ring.begin(n_tokens)
    ring.take()
    return ring


def rows(mask):
    """The mask of each sequence as drawn rows, the head left out."""
    return [
        ["".join("■" if allowed else "·" for allowed in row) for row in item.tolist()]
        for item in mask[:, 0]
    ]


# --- where tokens go -------------------------------------------------------------------------


def test_a_token_takes_the_slot_of_its_position():
    ring = call(RingIndex(2, 8), 3)
    assert (ring.ends, ring.block) == ([3, 3], (0, 3))
    assert call(ring, 2).block == (3, 5)


def test_padding_takes_no_slot():
    ring = RingIndex(2, 8)
    ring.announce(left_padded([3, 1]))
    ring.begin(3)
    assert ring.block is None
    assert [part.tolist() for part in ring.scatter()] == [
        [0, 0, 0, 1],
        [0, 1, 2, 2],
        [0, 1, 2, 0],
    ]
    ring.take()
    assert ring.ends == [3, 1]
    ring.begin(1)
    assert [part.tolist() for part in ring.scatter()] == [[0, 1], [0, 0], [3, 1]]


def test_sequences_that_grow_equally_long_are_even_again():
    ring = call(call(RingIndex(2, 8), 2, [[0, 1], [0, -1]]), 2, [[2, -1], [1, 2]])
    ring.begin(1)
    assert (ring.ends, ring.even, ring.block) == ([3, 3], True, (3, 4))


def test_in_a_ring_the_newest_token_lies_where_the_oldest_was():
    ring = call(RingIndex(1, None, window=3), 2)
    blocks = []
    for _ in range(5):
        ring.begin(1)
        blocks.append(ring.block)
        ring.take()
    assert blocks == [(2, 3), (0, 1), (1, 2), (2, 3), (0, 1)]
    assert ring.positions_kept().tolist() == [[6, 4, 5]]


def test_several_tokens_that_lap_the_ring_are_written_in_the_end():
    ring = call(RingIndex(1, None, window=3), 2)
    ring.begin(4)
    assert not ring.in_place
    assert (ring.n_used, ring.oldest, ring.block) == (2, 0, None)
    # positions 3, 4 and 5 stay; the first of the call, 2, is out of reach
    assert [part.tolist() for part in ring.scatter()] == [[0, 0, 0], [1, 2, 3], [0, 1, 2]]
    ring.take()
    ring.begin(2)
    assert (ring.n_used, ring.oldest) == (3, 0)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=4))
def test_a_ring_holds_the_last_positions_of_every_sequence(steps):
    """What the ring says it holds is what was written, for sequences of any lengths."""
    ring, held = RingIndex(2, None, window=3), [[None] * 3, [None] * 3]
    for lengths in steps:
        start, n_tokens = torch.tensor(ring.ends)[:, None], max(1, *lengths)
        padded = right_padded(lengths, n_tokens)
        ring.announce(torch.where(padded < 0, -1, padded + start))
        ring.begin(n_tokens)
        positions = ring.positions()
        for sequence, token, slot in zip(
            *map(torch.Tensor.tolist, ring.scatter()), strict=True
        ):
            held[sequence][slot] = int(positions[sequence, token])
        ring.take()
    ring.begin(0)
    kept = ring.positions_kept().expand(2, -1).tolist()
    for end, found, expected in zip(ring.ends, kept, held, strict=True):
        assert {p for p in found if p >= 0} == set(range(max(0, end - 3), end))
        assert [p for p in found if p >= 0] == [p for p in expected if p is not None]


# --- masks -----------------------------------------------------------------------------------


def may_look(ring, n_tokens, mask=masks.causal, positions=None):
    ring.announce(positions)
    ring.begin(n_tokens)
    return ring.may_look(mask, 1, CPU)


def test_while_slots_are_positions_the_mask_stays_as_it_was_given():
    drawn = torch.ones(2, 5).bool()
    for mask in (None, masks.causal, masks.prefix(2), drawn):
        assert may_look(call(RingIndex(2, 8), 3), 2, mask) is mask


def test_one_token_needs_no_causal_mask():
    assert may_look(call(RingIndex(2, 8), 3), 1) is None
    assert may_look(call(RingIndex(2, None, window=4), 3), 1) is None
    assert may_look(call(RingIndex(2, None, window=2), 3), 1) is None


def test_the_window_of_the_cache_is_in_every_mask():
    ring = call(RingIndex(2, None, window=2), 3)
    for mask in (None, masks.causal, ring.rule):
        assert may_look(ring, 4, mask) is ring.rule
    first = masks.custom(lambda query, key: key == 2)
    assert rows(may_look(ring, 3, first)) == [["·■···", "·····", "·····"]]
    assert rows(may_look(ring, 1, first)) == [["■·"]]


def test_a_predicate_is_asked_about_positions_and_padding_is_not_seen():
    ring = call(RingIndex(2, 8), 3, [[0, 1, 2], [-1, 0, 1]])
    assert rows(may_look(ring, 1)) == [["■■■■"], ["■■■·"]]
    assert rows(may_look(ring, 1, masks.sliding_window(2))) == [["··■■"], ["·■■·"]]
    assert rows(may_look(ring, 1, None)) == [["■■■■"], ["■■■·"]]
    assert rows(may_look(ring, 1, torch.tensor([True, False, True, True]))) == [
        ["■·■■"],
        ["■·■·"],
    ]


def test_padding_looks_at_nothing():
    found = may_look(RingIndex(2, 8), 3, positions=left_padded([3, 2]))
    assert rows(found) == [["■··", "■■·", "■■■"], ["···", "■··", "■■·"]]


def test_right_padding_stays_a_predicate():
    ring = RingIndex(2, 8)
    found = may_look(ring, 3, positions=right_padded([3, 1]))
    assert isinstance(found, masks.Predicate)
    assert masks.picture(found, 3) == ["■··  ■··", "■■·  ···", "■■■  ···"]
    found = may_look(call(ring, 2), 3, positions=[[2, 3, 4], [2, -1, -1]])
    assert masks.picture(found, 3, 5) == ["■■■··  ■■■··", "■■■■·  ·····", "■■■■■  ·····"]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ([[0, -1], [0, 1]], [[1, 2], [2, -1]]),  # after a past that was not even
        ([[0, 1], [0, 1]], [[2, -1], [2, -1]]),  # with room for no one behind
        ([[0, 1], [0, 1]], [[-1, 2], [2, -1]]),  # padded on both sides
    ],
)
def test_other_padding_is_a_tensor(first, then):
    assert isinstance(
        may_look(call(RingIndex(2, 8), 2, first), 2, positions=then), torch.Tensor
    )


def test_tokens_that_lap_a_ring_are_told_apart_by_position():
    ring = call(RingIndex(2, None, window=3), 2, [[0, 1], [0, -1]])
    assert rows(may_look(ring, 2)) == [["■■■·", "·■■■"], ["■·■·", "■·■■"]]


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.bothways
def test_a_mistake_says_what_and_how_to_repair_it():
    with pytest.raises(ValueError, match="a cache has an end, or a window; give it a length"):
        RingIndex(2, None)
    for sizes in ((0, 3), (2, 0), (2, 3, 0)):
        with pytest.raises(ValueError, match="=0 is not a size; it must be at least 1"):
            RingIndex(*sizes)
    ring = call(RingIndex(2, 5), 3, [[0, 1, 2], [0, -1, -1]])
    with pytest.raises(
        ValueError,
        match="the cache has room for 5 tokens of a sequence, 3 have come and 3 more come",
    ):
        ring.begin(3)
    with pytest.raises(TypeError, match=r"positions are whole numbers, one for each"):
        ring.announce([[0.5]])
    ring = call(RingIndex(2, None, window=2), 3)
    with pytest.raises(TypeError, match="mask is a tensor, but under a window no slot"):
        may_look(ring, 1, torch.ones(1, 2).bool())
    with pytest.raises(TypeError, match="bool"):
        may_look(ring, 1, torch.ones(1, 2))


def test_a_wrong_announcement_is_refused_until_it_is_taken_back():
    ring = call(RingIndex(2, 5), 2)
    ring.announce([[3], [2]])
    for _ in range(2):
        with pytest.raises(ValueError, match=r"positions \[3\] do not continue"):
            ring.begin(1)
    ring.announce(None)
    ring.begin(1)
    ring.take()
    assert ring.ends == [3, 3]
