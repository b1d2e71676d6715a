"""Freed memory goes back to the kernel, also where the allocator is told to keep it."""

import os
import subprocess
import sys

import pytest

from mhsa_book.bench import heap, judge, machine
from mhsa_book.bench.judge import Effort
from mhsa_book.results.cells import Cell

FREED = """
import torch
from mhsa_book.bench import heap
from mhsa_book.bench.memory import _status

numbers = torch.ones(50_000_000)
del numbers
kept = _status("VmRSS")
heap.give_back()
print(kept - _status("VmRSS"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="malloc_trim and /proc are of Linux")
def test_memory_that_the_pinned_allocator_keeps_is_given_back():
    environment = os.environ | machine.ALLOCATOR
    done = subprocess.run(
        [sys.executable, "-c", FREED],
        capture_output=True, text=True, env=environment, check=True,
    )  # fmt: skip
    assert int(done.stdout) > 150_000


def test_it_is_given_back_before_every_rival(monkeypatch):
    calls = []
    monkeypatch.setattr(heap, "give_back", lambda: calls.append(1))
    race = judge.run(Cell(2, 8, 16, 2), {}, Effort(rounds=1, seconds=0.0))
    assert len(calls) == len(race.entries)


def test_where_there_is_no_glibc_nothing_is_given_back(monkeypatch):
    def no_library(name):
        raise TypeError("LoadLibrary() argument 1 must be str, not None")  # as on Windows

    monkeypatch.setattr(heap.sys, "platform", "win32")
    monkeypatch.setattr(heap.ctypes, "CDLL", no_library)
    heap.give_back()


KEPT = """
from pathlib import Path
import torch
from mhsa_book.bench import heap

def faults():
    return int(Path("/proc/self/stat").read_text().split()[9])

faults()  # what it needs is there before: a piece cut from freed memory makes it too small
kept = heap.keep()
for _ in range(3):
    torch.empty(2**24).fill_(1)
before = faults()
torch.empty(2**24).fill_(1)
print(kept, faults() - before)
"""


def new_pages() -> int:
    """Faults of a process that writes 64 MB again, after it asked for kept memory."""
    run = subprocess.run(
        [sys.executable, "-c", KEPT], capture_output=True, text=True, check=True
    )
    kept, faults = run.stdout.split()
    if kept == "False":
        pytest.skip("there is no glibc here, so nothing can be asked of it")
    return int(faults)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator is Linux's")
def test_memory_that_was_used_is_used_again_when_asked():
    # Where a process happens to have a small piece above the block, the block cannot grow into
    # the room there by the bytes that its alignment needs: some processes find it too small.
    assert any(new_pages() < 100 for _ in range(4))  # of 16,384, which it is without asking


def test_without_glibc_nothing_is_kept(monkeypatch):
    monkeypatch.setattr(heap.sys, "platform", "win32")
    assert heap.keep() is False
