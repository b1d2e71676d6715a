"""A group of ranks waits as long as it is told."""

import pytest
import torch
import torch.distributed as dist

from mhsa_book.parallel.process_group import process_group


def test_together_waits_as_long_as_it_is_told():
    with process_group(7):
        backend = dist.group.WORLD._get_backend(torch.device("cpu"))
        assert backend.options._timeout.total_seconds() == 7


@pytest.mark.parametrize("seconds", [0, -1.0])
def test_some_time_is_needed_to_meet(seconds):
    with (
        pytest.raises(ValueError, match="leaves no time to meet"),
        process_group(seconds),
    ):
        pass
