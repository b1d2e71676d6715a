"""Which slots the tokens of a call take, and what they may look at there."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mhsa_lib import masks
from mhsa_lib.cache.positions import left_padded, right_padded
from mhsa_lib.cache.ring import Slots

CPU = torch.device("cpu")


def call(slots, n_tokens, positions=None):
    slots.announce(positions)
    slots.begin(n_tokens)
    slots.take()
    return slots


def rows(mask):
    """The mask of each sequence as drawn rows, the head left out."""
    return [
        ["".join("■" if allowed else "·" for allowed in row) for row in item.tolist()]
        for item in mask[:, 0]
    ]


# --- where tokens go -------------------------------------------------------------------------


def test_a_token_takes_the_slot_of_its_position():
    slots = call(Slots(2, 8), 3)
    assert (slots.ends, slots.block) == ([3, 3], (0, 3))
    assert call(slots, 2).block == (3, 5)


def test_padding_takes_no_slot():
    slots = Slots(2, 8)
    slots.announce(left_padded([3, 1]))
    slots.begin(3)
    assert slots.block is None
    assert [part.tolist() for part in slots.scatter()] == [
        [0, 0, 0, 1],
        [0, 1, 2, 2],
        [0, 1, 2, 0],
    ]
    slots.take()
    assert slots.ends == [3, 1]
    slots.begin(1)
    assert [part.tolist() for part in slots.scatter()] == [[0, 1], [0, 0], [3, 1]]


def test_sequences_that_grow_equally_long_are_even_again():
    slots = call(call(Slots(2, 8), 2, [[0, 1], [0, -1]]), 2, [[2, -1], [1, 2]])
    slots.begin(1)
    assert (slots.ends, slots.even, slots.block) == ([3, 3], True, (3, 4))


def test_in_a_ring_the_newest_token_lies_where_the_oldest_was():
    slots = call(Slots(1, None, window=3), 2)
    blocks = []
    for _ in range(5):
        slots.begin(1)
        blocks.append(slots.block)
        slots.take()
    assert blocks == [(2, 3), (0, 1), (1, 2), (2, 3), (0, 1)]
    assert slots.positions_kept().tolist() == [[6, 4, 5]]


def test_several_tokens_that_lap_the_ring_are_written_in_the_end():
    slots = call(Slots(1, None, window=3), 2)
    slots.begin(4)
    assert not slots.in_place
    assert (slots.n_used, slots.oldest, slots.block) == (2, 0, None)
    # positions 3, 4 and 5 stay; the first of the call, 2, is out of reach
    assert [part.tolist() for part in slots.scatter()] == [[0, 0, 0], [1, 2, 3], [0, 1, 2]]
    slots.take()
    slots.begin(2)
    assert (slots.n_used, slots.oldest) == (3, 0)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=4))
def test_a_ring_holds_the_last_positions_of_every_sequence(steps):
    """What the slots say they hold is what was written, for sequences of any lengths."""
    slots, held = Slots(2, None, window=3), [[None] * 3, [None] * 3]
    for lengths in steps:
        start, n_tokens = torch.tensor(slots.ends)[:, None], max(1, *lengths)
        padded = right_padded(lengths, n_tokens)
        slots.announce(torch.where(padded < 0, -1, padded + start))
        slots.begin(n_tokens)
        positions = slots.positions()
        for sequence, token, slot in zip(
            *map(torch.Tensor.tolist, slots.scatter()), strict=True
        ):
            held[sequence][slot] = int(positions[sequence, token])
        slots.take()
    slots.begin(0)
    kept = slots.positions_kept().expand(2, -1).tolist()
    for end, found, expected in zip(slots.ends, kept, held, strict=True):
        assert {p for p in found if p >= 0} == set(range(max(0, end - 3), end))
        assert [p for p in found if p >= 0] == [p for p in expected if p is not None]


# --- masks -----------------------------------------------------------------------------------


def may_look(slots, n_tokens, mask=masks.causal, positions=None):
    slots.announce(positions)
    slots.begin(n_tokens)
    return slots.may_look(mask, 1, CPU)


def test_while_slots_are_positions_the_mask_stays_as_it_was_given():
    drawn = torch.ones(2, 5).bool()
    for mask in (None, masks.causal, masks.prefix(2), drawn):
        assert may_look(call(Slots(2, 8), 3), 2, mask) is mask


def test_one_token_needs_no_causal_mask():
    assert may_look(call(Slots(2, 8), 3), 1) is None
    assert may_look(call(Slots(2, None, window=4), 3), 1) is None
    assert may_look(call(Slots(2, None, window=2), 3), 1) is None


def test_the_window_of_the_cache_is_in_every_mask():
    slots = call(Slots(2, None, window=2), 3)
    for mask in (None, masks.causal, slots.rule):
        assert may_look(slots, 4, mask) is slots.rule
    first = masks.custom(lambda query, key: key == 2)
    assert rows(may_look(slots, 3, first)) == [["·■···", "·····", "·····"]]
    assert rows(may_look(slots, 1, first)) == [["■·"]]


def test_a_predicate_is_asked_about_positions_and_padding_is_not_seen():
    slots = call(Slots(2, 8), 3, [[0, 1, 2], [-1, 0, 1]])
    assert rows(may_look(slots, 1)) == [["■■■■"], ["■■■·"]]
    assert rows(may_look(slots, 1, masks.sliding_window(2))) == [["··■■"], ["·■■·"]]
    assert rows(may_look(slots, 1, None)) == [["■■■■"], ["■■■·"]]
    assert rows(may_look(slots, 1, torch.tensor([True, False, True, True]))) == [
        ["■·■■"],
        ["■·■·"],
    ]


def test_padding_looks_at_nothing():
    found = may_look(Slots(2, 8), 3, positions=left_padded([3, 2]))
    assert rows(found) == [["■··", "■■·", "■■■"], ["···", "■··", "■■·"]]


def test_right_padding_stays_a_predicate():
    slots = Slots(2, 8)
    found = may_look(slots, 3, positions=right_padded([3, 1]))
    assert isinstance(found, masks.Predicate)
    assert masks.picture(found, 3) == ["■··  ■··", "■■·  ···", "■■■  ···"]
    found = may_look(call(slots, 2), 3, positions=[[2, 3, 4], [2, -1, -1]])
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
    assert isinstance(may_look(call(Slots(2, 8), 2, first), 2, positions=then), torch.Tensor)


def test_tokens_that_lap_a_ring_are_told_apart_by_position():
    slots = call(Slots(2, None, window=3), 2, [[0, 1], [0, -1]])
    assert rows(may_look(slots, 2)) == [["■■■·", "·■■■"], ["■·■·", "■·■■"]]


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.bothways
def test_a_mistake_says_what_and_how_to_repair_it():
    with pytest.raises(ValueError, match="a cache has an end, or a window; give it a length"):
        Slots(2, None)
    for sizes in ((0, 3), (2, 0), (2, 3, 0)):
        with pytest.raises(ValueError, match="=0 is not a size; it must be at least 1"):
            Slots(*sizes)
    slots = call(Slots(2, 5), 3, [[0, 1, 2], [0, -1, -1]])
    with pytest.raises(
        ValueError,
        match="the cache has room for 5 tokens of a sequence, 3 have come and 3 more come",
    ):
        slots.begin(3)
    with pytest.raises(TypeError, match=r"positions are whole numbers, one for each"):
        slots.announce([[0.5]])
    ring = call(Slots(2, None, window=2), 3)
    with pytest.raises(
        TypeError, match="mask is a tensor, but under a window no slot has a pos"
    ):
        may_look(ring, 1, torch.ones(1, 2).bool())
    with pytest.raises(TypeError, match="bool"):
        may_look(ring, 1, torch.ones(1, 2))


def test_a_wrong_announcement_is_refused_until_it_is_taken_back():
    slots = call(Slots(2, 5), 2)
    slots.announce([[3], [2]])
    for _ in range(2):
        with pytest.raises(ValueError, match=r"positions \[3\] do not continue"):
            slots.begin(1)
    slots.announce(None)
    slots.begin(1)
    slots.take()
    assert slots.ends == [3, 3]
