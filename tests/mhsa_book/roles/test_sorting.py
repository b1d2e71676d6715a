"""Heads sorted by a number: the largest first, and nothing but a table of heads."""

import pytest
import torch

from mhsa_book.roles.sorting import best, strongest


def test_the_heads_come_in_the_order_of_plain_sorting():
    table = torch.rand(30, 9, generator=torch.Generator().manual_seed(0))
    every = sorted(
        ((layer, head) for layer in range(30) for head in range(9)),
        key=lambda place: -table[place].item(),
    )
    assert best(table, 270) == every
    layer, head = every[0]
    assert strongest(table, 1) == f"L{layer}H{head} {table.max():.2f}"


@pytest.mark.parametrize(("shape", "n"), [((4,), 1), ((2, 3), 7), ((2, 3), 0), ((1, 2, 3), 1)])
def test_another_shape_or_number_is_refused(shape, n):
    with pytest.raises(ValueError, match=r"has to be \(layer, head\)"):
        best(torch.zeros(shape), n)
