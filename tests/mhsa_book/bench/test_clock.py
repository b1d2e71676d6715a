"""The clock: fair rounds, honest quartiles, and nobody else's work in the numbers."""

import math
import random

import pytest

from mhsa_book.bench import clock as clocks
from mhsa_book.bench.clock import Clock, Entrant, Times, band, quartiles, race


class World:
    """A machine whose time only passes when somebody works, and a log of who did."""

    def __init__(self, others=()):
        self.time, self.own, self.foreign = 0.0, 0.0, 0.0
        self.log, self.disturbed = [], list(others)
        self.clock = Clock(now=lambda: self.time, busy=self.busy, sleep=lambda s: None, cores=2)

    def busy(self):
        return self.own + self.foreign, self.own

    def entrant(self, name, seconds, most=100_000):
        def call():
            self.log.append(name)
            took = seconds() if callable(seconds) else seconds
            self.time += took
            self.own += took
            if self.disturbed and self.disturbed[0](self.time):
                self.foreign += took

        return Entrant(call, most=most)


def test_a_ratio_is_that_of_one_round_and_their_median_is_reported():
    world = World()
    weather = random.Random(1)
    entrants = {
        "raw": world.entrant("raw", 0.001),
        "about twice": world.entrant("twice", lambda: weather.choice([0.0015, 0.002, 0.008])),
    }
    times = race(entrants, rounds=9, seconds=2.0, clock=world.clock)
    low, middle, high = quartiles(times.ratios("about twice", "raw"))
    assert 1.5 <= low < middle < high <= 8
    assert times.median("raw") == pytest.approx(0.001)


def test_a_gust_over_a_whole_round_changes_no_ratio():
    rounds = [{"raw": 1.0, "ours": 0.5}, {"raw": 10.0, "ours": 5.0}, {"raw": 1.0}]
    assert Times(rounds).ratios("ours", "raw") == [0.5, 0.5]


def test_a_block_lasts_four_milliseconds_at_least():
    world = World()
    race({"raw": world.entrant("raw", 0.0005)}, rounds=1, seconds=0.0, clock=world.clock)
    assert len(world.log) == 3 + 8 * round((world.time - 3 * 0.0005) / 0.004)
    assert clocks.BLOCK == 0.004


def test_a_block_of_a_cache_is_no_longer_than_its_room():
    world = World()
    entrants = {"raw": world.entrant("raw", 0.0001, most=5)}
    times = race(entrants, rounds=1, seconds=0.0, clock=world.clock)
    assert len(world.log) == 3 + 5 * len(times.rounds)


def test_the_order_changes_from_round_to_round():
    world = World()
    entrants = {name: world.entrant(name, 0.05) for name in "abcd"}
    race(entrants, rounds=20, seconds=0.0, clock=world.clock)
    rounds = ["".join(world.log[4:][i : i + 4]) for i in range(0, 80, 4)]
    assert {"".join(sorted(r)) for r in rounds} == {"abcd"}
    assert len(set(rounds)) > 8


def test_a_reset_goes_before_every_block_and_is_not_timed():
    world, done = World(), []

    def reset():
        done.append(len(world.log))
        world.time += 100.0

    entrant = Entrant(world.entrant("a", 0.01).call, reset)
    assert world.clock.block(entrant, 4) == pytest.approx(0.01)
    assert done == [0]


def test_rounds_that_others_disturb_are_thrown_away_and_counted():
    world = World([lambda time: time < 3.0])
    slow = world.disturbed[0]
    entrants = {
        "raw": world.entrant("raw", 0.05),
        "ours": world.entrant("ours", lambda: 0.5 if slow(world.time) else 0.05),
    }
    times = race(entrants, rounds=9, seconds=5.0, clock=world.clock)
    assert times.thrown >= 2
    assert not times.contaminated
    assert quartiles(times.ratios("ours", "raw"))[1] == pytest.approx(1.0)


def test_a_machine_that_is_never_quiet_is_given_up_and_marked():
    world = World([lambda time: True])
    entrants = {"raw": world.entrant("raw", 0.05), "ours": world.entrant("ours", 0.1)}
    times = race(entrants, rounds=9, seconds=1.0, clock=world.clock)
    assert times.contaminated
    assert len(times.rounds) == 9
    assert world.time < 10.0
    assert quartiles(times.ratios("ours", "raw"))[1] == pytest.approx(2.0)


def test_our_own_threads_are_no_foreign_load():
    clock = Clock(busy=lambda: (20.0, 12.0), cores=2)
    assert clock.foreign((10.0, 2.0), 5.0) == 0.0
    assert clock.foreign((10.0, 12.0), 5.0) == 1.0
    assert Clock(busy=lambda: None).foreign(None, 5.0) == 0.0


def test_where_the_kernel_tells_it_the_machine_has_used_more_than_this_process():
    found = clocks.busy()
    if found is None:
        pytest.skip("no /proc/stat on this machine")
    assert found[0] >= found[1] >= 0


def test_the_slow_rest_in_long_rounds_but_never_those_the_table_needs():
    world = World()
    entrants = {
        "raw": world.entrant("raw", 0.9),
        "close": world.entrant("close", 1.1),
        "slow": world.entrant("slow", 3.0),
        "ours": world.entrant("ours", 3.0),
    }
    times = race(entrants, rounds=9, seconds=0.0, clock=world.clock, never_rest=("raw", "ours"))
    counts = {name: len(times.ratios(name, "raw")) for name in entrants}
    assert counts == {"raw": 9, "close": 9, "slow": 3, "ours": 9}


def test_rounds_go_on_until_the_time_is_used():
    world = World()
    entrants = {"raw": world.entrant("raw", 0.1)}
    times = race(entrants, rounds=2, seconds=3.0, clock=world.clock)
    assert 28 <= len(times.rounds) <= 34


def test_quartiles_of_one_number_and_of_none():
    assert quartiles([0.5]) == (0.5, 0.5, 0.5)
    with pytest.raises(ValueError, match="nothing to take quartiles of"):
        quartiles([])


def test_the_band_is_symmetric_and_never_below_three_percent():
    assert band([1.0, 1.001, 0.999]) == clocks.LEAST_BAND == 0.03
    slower, faster = band([1.1, 1.1, 1.1]), band([1 / 1.1] * 3)
    assert math.isclose(slower, faster)
    assert slower == pytest.approx(0.1)
