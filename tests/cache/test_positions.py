"""Where tokens stand: slots, positions, padding, and what a mask is asked about."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mhsa_lib import masks
from mhsa_lib.cache.positions import Places, left_padded, right_padded

CPU = torch.device("cpu")


def call(places, n_tokens, positions=None, batch=(2,)):
    if positions is not None:
        places.announce(positions)
    found = places.next(batch, n_tokens, CPU)
    places.take()
    return found.tolist()


def rows(mask):
    """The mask of each sequence as drawn rows, the head left out."""
    return [
        ["".join("■" if allowed else "·" for allowed in row) for row in item.tolist()]
        for item in mask[:, 0]
    ]


# --- positions of the next call --------------------------------------------------------------


def test_without_an_announcement_every_sequence_goes_on():
    places = Places()
    assert call(places, 2) == [[0, 1], [0, 1]]
    assert call(places, 1) == [[2], [2]]
    assert (places.n_slots, places.uniform) == (3, True)


def test_after_padding_every_sequence_goes_on_from_its_own_end():
    places = Places()
    call(places, 3, [[0, 1, 2], [-1, -1, 0]])
    assert call(places, 2) == [[3, 4], [1, 2]]
    assert places.table.tolist() == [[0, 1, 2, 3, 4], [-1, -1, 0, 1, 2]]
    assert places.lengths.tolist() == [5, 3]
    assert not places.uniform


def test_a_sequence_of_padding_alone_starts_later():
    places = Places()
    call(places, 2, [[0, 1], [-1, -1]])
    assert call(places, 1) == [[2], [0]]


def test_a_call_that_was_begun_and_not_taken_did_not_happen():
    places = Places()
    call(places, 2)
    places.next((2,), 5, CPU)
    assert call(places, 1) == [[2], [2]]


def test_without_a_batch_axis_there_is_one_sequence():
    places = Places()
    assert call(places, 2, batch=()) == [0, 1]
    assert call(places, 2, [2, 3], batch=()) == [2, 3]
    assert places.lengths.tolist() == 4


def test_forgetting_starts_again_with_any_batch():
    places = Places(length=3)
    call(places, 3, [[0, 1, 2], [0, -1, -1]])
    places.forget()
    assert places.uniform
    assert call(places, 2, batch=(5,)) == [[0, 1]] * 5


def test_forgetting_also_drops_an_announcement():
    places = Places()
    places.announce([[0, -1], [0, 1]])
    places.forget()
    assert call(places, 2) == [[0, 1], [0, 1]]


@given(st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=2), min_size=1, max_size=4))
def test_positions_of_every_sequence_are_counted_without_a_gap(steps):
    """Every call brings each of two sequences some tokens, padded on either side."""
    places = Places()
    for i, lengths in enumerate(steps):
        padded = (left_padded if i % 2 else right_padded)(lengths, 3)
        start = places.lengths.expand(2)[:, None]
        call(places, 3, torch.where(padded >= 0, padded + start, -1))
    for row, length in zip(places.table.tolist(), places.lengths.tolist(), strict=True):
        assert [position for position in row if position >= 0] == list(range(length))
    assert places.lengths.tolist() == [sum(each) for each in zip(*steps, strict=True)]


# --- masks -----------------------------------------------------------------------------------


def ragged():
    places = Places()
    call(places, 3, [[0, 1, 2], [-1, 0, 1]])
    places.next((2,), 1, CPU)
    return places


def test_a_predicate_is_asked_about_positions_and_padding_is_not_seen():
    assert rows(ragged().may_look(masks.causal, 1)) == [["■■■■"], ["·■■■"]]
    assert rows(ragged().may_look(masks.sliding_window(2), 1)) == [["··■■"], ["··■■"]]
    first = masks.custom(lambda query, key: key == 0)
    assert rows(ragged().may_look(first, 1)) == [["■···"], ["·■··"]]


def test_padding_looks_at_nothing():
    places = Places()
    places.announce(left_padded([3, 2]))
    places.next((2,), 3, CPU)
    assert rows(places.may_look(masks.causal, 1)) == [
        ["■··", "■■·", "■■■"],
        ["···", "·■·", "·■■"],
    ]


def test_a_boolean_tensor_is_about_slots():
    given_mask = torch.tensor([[True, False, True, True]])
    assert rows(ragged().may_look(given_mask, 1)) == [["■·■■"], ["··■■"]]


def test_no_mask_still_leaves_padding_out():
    assert rows(ragged().may_look(None, 1)) == [["■■■■"], ["·■■■"]]


def test_while_slots_are_positions_the_mask_stays_as_it_was_given():
    places = Places()
    call(places, 3)
    places.next((2,), 1, CPU)
    for mask in (None, masks.causal, torch.ones(1, 4).bool()):
        assert places.may_look(mask, 3) is mask


def test_a_mask_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"mask \(1, 9\) does not fit scores \(2, 3, 1, 4\)"):
        ragged().may_look(torch.ones(1, 9).bool(), 3)
    with pytest.raises(TypeError, match="bool"):
        ragged().may_look(torch.ones(1, 4), 3)


# --- forgetting ------------------------------------------------------------------------------


def test_a_window_keeps_what_the_next_token_reaches_in_any_sequence():
    places = Places()
    call(places, 4, [[0, 1, 2, 3], [0, -1, -1, -1]])
    assert places.window(3).tolist() == [0, 2, 3]  # positions 2 and 3, and 0 of the other
    assert places.window(1).tolist() == []
    places.keep(places.window(3))
    assert places.table.tolist() == [[0, 2, 3], [0, -1, -1]]
    assert call(places, 1) == [[4], [1]]


def test_keeping_all_changes_nothing():
    places = Places()
    call(places, 3)
    places.keep(places.window(9))
    assert (places.n_slots, places.uniform) == (3, True)


# --- lengths to positions --------------------------------------------------------------------


def test_padding_left_and_right():
    assert left_padded([3, 1, 0]).tolist() == [[0, 1, 2], [-1, -1, 0], [-1, -1, -1]]
    assert right_padded([3, 1, 0]).tolist() == [[0, 1, 2], [0, -1, -1], [-1, -1, -1]]
    assert right_padded([1], n_tokens=3).tolist() == [[0, -1, -1]]


@pytest.mark.bothways
@pytest.mark.parametrize("padded", [left_padded, right_padded])
def test_lengths_that_do_not_fit_are_refused(padded):
    with pytest.raises(
        ValueError, match=r"lengths \[4, 1\] do not fit 3 tokens; each is 0 to 3"
    ):
        padded([4, 1], 3)
    with pytest.raises(ValueError, match=r"lengths \[-1\] do not fit 3 tokens"):
        padded([-1], 3)
