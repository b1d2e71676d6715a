"""Memory is measured in a process of its own."""

from pathlib import Path

import pytest

from mhsa_book.bench import memory
from mhsa_book.results.records import UNIT


@pytest.mark.slow  # two processes that import torch and fill memory
def test_memory_of_an_explicit_softmax_grows_with_the_square():
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("no /proc on this machine")
    small, large = memory.peaks("explicit softmax", "causal", (1024, 2048), threads=1)
    assert (small.reason, large.reason) == ("", "")
    assert large.mb > 2.5 * small.mb
    table = 8 * 2048 * 2048 * 4 / 1e6
    assert 1.5 * table < large.mb < 5 * table


def test_a_process_that_dies_is_listed(monkeypatch):
    monkeypatch.setattr(memory.sys, "executable", "/bin/false")
    (peak,) = memory.peaks(UNIT, "full", (512,), threads=1)
    assert peak.reason == "not run here: its process died"
