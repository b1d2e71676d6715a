"""Where tokens stand: slots, positions, padding, and what a mask is asked about."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mhsa_lib import masks
from mhsa_lib.cache.position_table import PositionTable
from mhsa_lib.cache.positions import left_padded, right_padded

CPU = torch.device("cpu")


def call(table, n_tokens, positions=None, batch=(2,)):
    if positions is not None:
        table.announce(positions)
    found = table.next(batch, n_tokens, CPU)
    table.take()
    return found.tolist()


def rows(mask):
    """The mask of each sequence as drawn rows, the head left out."""
    return [
        ["".join("■" if allowed else "·" for allowed in row) for row in item.tolist()]
        for item in mask[:, 0]
    ]


# --- positions of the next call --------------------------------------------------------------


def test_without_an_announcement_every_sequence_goes_on():
    table = PositionTable()
    assert call(table, 2) == [[0, 1], [0, 1]]
    assert call(table, 1) == [[2], [2]]
    assert (table.n_slots, table.uniform) == (3, True)


def test_after_padding_every_sequence_goes_on_from_its_own_end():
    table = PositionTable()
    call(table, 3, [[0, 1, 2], [-1, -1, 0]])
    assert call(table, 2) == [[3, 4], [1, 2]]
    assert table.table.tolist() == [[0, 1, 2, 3, 4], [-1, -1, 0, 1, 2]]
    assert table.lengths.tolist() == [5, 3]
    assert not table.uniform


def test_a_sequence_of_padding_alone_starts_later():
    table = PositionTable()
    call(table, 2, [[0, 1], [-1, -1]])
    assert call(table, 1) == [[2], [0]]


def test_a_call_that_was_begun_and_not_taken_did_not_happen():
    table = PositionTable()
    call(table, 2)
    table.next((2,), 5, CPU)
    assert call(table, 1) == [[2], [2]]


def test_without_a_batch_axis_there_is_one_sequence():
    table = PositionTable()
    assert call(table, 2, batch=()) == [0, 1]
    assert call(table, 2, [2, 3], batch=()) == [2, 3]
    assert table.lengths.tolist() == 4


def test_forgetting_starts_again_with_any_batch():
    table = PositionTable(length=3)
    call(table, 3, [[0, 1, 2], [0, -1, -1]])
    table.forget()
    assert table.uniform
    assert call(table, 2, batch=(5,)) == [[0, 1]] * 5


def test_forgetting_also_drops_an_announcement():
    table = PositionTable()
    table.announce([[0, -1], [0, 1]])
    table.forget()
    assert call(table, 2) == [[0, 1], [0, 1]]


@given(st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=2), min_size=1, max_size=4))
def test_positions_of_every_sequence_are_counted_without_a_gap(steps):
    """Every call brings each of two sequences some tokens, padded on either side."""
    table = PositionTable()
    for i, lengths in enumerate(steps):
        padded = (left_padded if i % 2 else right_padded)(lengths, 3)
        start = table.lengths.expand(2)[:, None]
        call(table, 3, torch.where(padded >= 0, padded + start, -1))
    for row, length in zip(table.table.tolist(), table.lengths.tolist(), strict=True):
        assert [position for position in row if position >= 0] == list(range(length))
    assert table.lengths.tolist() == [sum(each) for each in zip(*steps, strict=True)]


# --- masks -----------------------------------------------------------------------------------


def ragged():
    table = PositionTable()
    call(table, 3, [[0, 1, 2], [-1, 0, 1]])
    table.next((2,), 1, CPU)
    return table


def test_a_predicate_is_asked_about_positions_and_padding_is_not_seen():
    assert rows(ragged().may_look(masks.causal, 1)) == [["■■■■"], ["·■■■"]]
    assert rows(ragged().may_look(masks.sliding_window(2), 1)) == [["··■■"], ["··■■"]]
    first = masks.custom(lambda query, key: key == 0)
    assert rows(ragged().may_look(first, 1)) == [["■···"], ["·■··"]]


def test_padding_looks_at_nothing():
    table = PositionTable()
    table.announce(left_padded([3, 2]))
    table.next((2,), 3, CPU)
    assert rows(table.may_look(masks.causal, 1)) == [
        ["■··", "■■·", "■■■"],
        ["···", "·■·", "·■■"],
    ]


def test_a_boolean_tensor_is_about_slots():
    given_mask = torch.tensor([[True, False, True, True]])
    assert rows(ragged().may_look(given_mask, 1)) == [["■·■■"], ["··■■"]]


def test_no_mask_still_leaves_padding_out():
    assert rows(ragged().may_look(None, 1)) == [["■■■■"], ["·■■■"]]


def test_while_slots_are_positions_the_mask_stays_as_it_was_given():
    table = PositionTable()
    call(table, 3)
    table.next((2,), 1, CPU)
    for mask in (None, masks.causal, torch.ones(1, 4).bool()):
        assert table.may_look(mask, 3) is mask


def test_a_mask_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"mask \(1, 9\) does not fit scores \(2, 3, 1, 4\)"):
        ragged().may_look(torch.ones(1, 9).bool(), 3)
    with pytest.raises(TypeError, match="bool"):
        ragged().may_look(torch.ones(1, 4), 3)


# --- forgetting ------------------------------------------------------------------------------


def test_a_window_keeps_what_the_next_token_reaches_in_any_sequence():
    table = PositionTable()
    call(table, 4, [[0, 1, 2, 3], [0, -1, -1, -1]])
    assert table.window(3).tolist() == [0, 2, 3]  # positions 2 and 3, and 0 of the other
    assert table.window(1).tolist() == []
    table.keep(table.window(3))
    assert table.table.tolist() == [[0, 2, 3], [0, -1, -1]]
    assert call(table, 1) == [[4], [1]]


def test_keeping_all_changes_nothing():
    table = PositionTable()
    call(table, 3)
    table.keep(table.window(9))
    assert (table.n_slots, table.uniform) == (3, True)


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
