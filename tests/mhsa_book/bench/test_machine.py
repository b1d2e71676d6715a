"""The machine: its allocator, its rates, and the least time a cell can take on it."""

import pytest

from mhsa_book.bench import machine
from mhsa_book.results.cells import Cell
from tests.mhsa_book.bench.rates import RATES


def test_the_allocator_is_set_by_starting_again_and_only_once(monkeypatch):
    started = []
    monkeypatch.setattr(machine.sys, "platform", "linux")
    monkeypatch.setattr(machine.os, "execve", lambda *call: started.append(call))
    for name in machine.ALLOCATOR:
        monkeypatch.delenv(name, raising=False)
    machine.restart_with("default", ["--quick"])
    assert not started
    machine.restart_with("pinned", ["--quick"])
    ((_, arguments, environment),) = started
    assert arguments[1:] == ["-m", "mhsa_book.bench", "--quick"]
    assert machine.ALLOCATOR.items() <= environment.items()
    for name, value in machine.ALLOCATOR.items():
        monkeypatch.setenv(name, value)
    machine.restart_with("pinned", ["--quick"])
    assert len(started) == 1
    machine.restart_with("default", [])
    assert not machine.ALLOCATOR.keys() & started[1][2].keys()


def test_the_rates_are_positive_and_named(monkeypatch):
    monkeypatch.setattr(machine, "BUFFERS", (1,))
    monkeypatch.setattr(machine, "_least", lambda run, seconds=0.0: (run(), 0.5)[1])
    found = machine.rates()
    assert found.keys() == {"gemm_float32", "gemm_bfloat16", "exp", "read_1_mb"}
    assert found["read_1_mb"] == 1 / 1000 / 0.5
    assert found["gemm_float32"] == 2 * 2048**3 / 0.5 / 1e9


def test_the_least_time_counts_products_exponentials_and_bytes_by_hand():
    full = machine.least_seconds(Cell(2, 4, 8, 2), RATES)
    flops = 8 * 2 * 4 * 8**2 + 4 * 2 * 4**2 * 8
    assert full == pytest.approx(flops / 300e9 + 2 * 4**2 * 2 / 4e9)
    training = machine.least_seconds(Cell(2, 4, 8, 2, "full", "training"), RATES)
    flops = 3 * 8 * 2 * 4 * 8**2 + 3.5 * 4 * 2 * 4**2 * 8
    assert training == pytest.approx(flops / 300e9 + 2 * 4**2 * 2 / 4e9)
    step = machine.least_seconds(Cell(8, 4095, 512, 8, mode="decode"), RATES)
    read = 4 * 4 * 512**2 + 2 * 8 * 4096 * 512 * 4
    assert step == pytest.approx(read / 50e9)


def test_half_the_mask_and_half_the_tokens_need_less():
    full, causal, ragged, bf16 = (
        machine.least_seconds(Cell(8, 512, 512, 8, *kind), RATES)
        for kind in (("full",), ("causal",), ("ragged",), ("full", "forward", "bfloat16"))
    )
    assert ragged < causal < full
    assert bf16 < full
