"""Neighbours and halves: the same function after reordering, and silently not without."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from mhsa_lib.rope.rotary import HALVES, INTERLEAVED, Rotary, reordered
from tests.helpers.drawn import rand
from tests.mhsa_lib.rope.inputs import drawn


@given(st.integers(1, 6), drawn, drawn)
def test_reordering_there_and_back_is_the_identity(n_pairs, old, new):
    rows = rand(3, 2 * n_pairs)
    assert torch.equal(reordered(reordered(rows, old, new), new, old), rows)
    assert torch.equal(reordered(rows, old, old), rows)


def test_neighbours_become_halves_in_this_order():
    assert reordered(torch.arange(6), INTERLEAVED, HALVES).tolist() == [0, 2, 4, 1, 3, 5]
    assert reordered(torch.arange(6), HALVES, INTERLEAVED).tolist() == [0, 3, 1, 4, 2, 5]


def test_scores_agree_after_reordering_and_silently_not_without():
    """Both conventions load the same numbers; only one of them is right for a checkpoint."""
    q, k, positions = rand(5, 8), rand(5, 8), torch.arange(5)
    neighbours, halves = Rotary(8), Rotary(8, pairing=HALVES)
    expected = neighbours(q, positions) @ neighbours(k, positions).mT
    moved = [halves(reordered(rows, INTERLEAVED, HALVES), positions) for rows in (q, k)]
    assert_close(moved[0] @ moved[1].mT, expected)
    wrong = halves(q, positions) @ halves(k, positions).mT
    assert (wrong - expected).abs().max() > 0.1
    assert_close(wrong.diagonal(), expected.diagonal())  # at distance 0 nothing turns
