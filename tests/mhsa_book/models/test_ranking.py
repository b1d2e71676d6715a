"""The strongest heads by name."""

import pytest
import torch

from mhsa_book.models.ranking import strongest


def test_the_largest_come_first_under_their_own_names():
    values = torch.tensor([[0.0, 3.0], [2.0, -5.0], [1.0, 2.5]])
    assert strongest(values, 3) == {"L0H1": 3.0, "L2H1": 2.5, "L1H0": 2.0}
    assert [*strongest(-values, 1)] == ["L1H1"]


@pytest.mark.parametrize("k", [0, 7])
def test_more_heads_than_there_are_is_refused(k):
    with pytest.raises(ValueError, match="1 to 6"):
        strongest(torch.zeros(3, 2), k)
