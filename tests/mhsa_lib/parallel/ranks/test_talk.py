"""Ranks say to each other what they must, and nothing else."""

import pytest
import torch

from mhsa_book.parallel.comparison import sent
from tests.helpers.sharded import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_one_all_reduce_forward_and_one_backward(ranks, kind):
    for rank in ranks:
        assert rank["talk"][kind]["self"] == [[n, {"all_reduce": n}] for n in (1, 1 + 1)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_context_has_a_gradient_of_its_own_to_add_up(ranks, kind):
    for rank in ranks:
        assert rank["talk"][kind]["cross"] == [[n, {"all_reduce": n}] for n in (1, 1 + 2)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_listener_hears_what_is_said_and_how_many_bytes(ranks, kind):
    for rank in ranks:
        assert rank["talk"][kind]["heard"] == [["all_reduce", [2, 6, 12], 2 * 6 * 12 * 8]]


def test_around_a_ring_all_ranks_send_what_the_ends_of_a_line_would():
    for n in (1, 2, 3, 8):
        parts = torch.arange(n * n).view(n, n)  # rank r starts with row r
        hops = [(r, (r - step) % n) for step in range(n - 1) for r in range(n)]
        for r, part in hops:  # in each step rank r hands one part to the next rank
            parts[(r + 1) % n, part] += parts[r, part]
        complete = [parts[r, (r + 1) % n] for r in range(n)]
        assert [int(c) for c in complete] == [
            sum(n * k + (r + 1) % n for k in range(n)) for r in range(n)
        ]
        assert sent(n, n) == 2 * len(hops) / n  # as many hops again hand the sums round
