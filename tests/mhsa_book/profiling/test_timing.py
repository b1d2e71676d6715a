"""The shortest run is kept, calls take turns, and one core means one core."""

import time

import pytest
import torch

from mhsa_book.profiling import timing
from mhsa_book.profiling.timing import fastest, one_core, shortest


class Clock:
    """Time that passes only when a call says so."""

    def __init__(self):
        self.now = 0.0
        self.calls = []

    def call(self, name, durations):
        left = iter(durations)

        def run():
            self.calls.append(name)
            self.now += next(left)

        return run


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(timing, "_clock", lambda device: lambda: clock.now)
    return clock


def test_the_shortest_run_counts_and_the_first_does_not(clock):
    a = clock.call("a", [0.5, 9, 3, 9, 9, 9])
    b = clock.call("b", [0.25, 9, 9, 9, 4, 9])
    assert fastest([a, b], budget=0.0) == [3, 4]


def test_calls_take_turns(clock):
    a, b = clock.call("a", [1] * 6), clock.call("b", [1] * 6)
    fastest([a, b], budget=0.0)
    assert clock.calls == ["a", "b"] * 6


def test_more_runs_while_the_budget_lasts():
    runs = []
    fastest([lambda: runs.append(time.sleep(0.001))], budget=0.05)
    assert 6 < len(runs) <= 52


def test_one_core_lasts_as_long_as_its_block_also_when_that_fails():
    before, inside = torch.get_num_threads(), []

    def fail():
        inside.append(torch.get_num_threads())
        raise KeyError

    torch.set_num_threads(2)
    try:
        with pytest.raises(KeyError), one_core():
            fail()
        assert (inside, torch.get_num_threads()) == ([1], 2)
    finally:
        torch.set_num_threads(before)


def test_on_one_core_waiting_costs_nothing():
    """What another program takes away is such a wait."""
    with one_core():
        (asleep,) = fastest([lambda: time.sleep(0.02)], budget=0.0)
    assert asleep < 0.01


def test_with_more_cores_the_wall_clock_counts():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        (asleep,) = fastest([lambda: time.sleep(0.02)], budget=0.0)
    finally:
        torch.set_num_threads(threads)
    assert asleep >= 0.02


def test_of_several_measurements_each_entry_keeps_its_shortest():
    runs = [{"a": 3.0, "b": 1.0}, {"a": 2.0, "b": 5.0}, {"b": 4.0, "a": 9.0}]
    assert shortest(iter(runs)) == {"a": 2.0, "b": 1.0}
    assert shortest(runs[:1]) == runs[0]
