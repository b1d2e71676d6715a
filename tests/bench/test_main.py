"""The command: what it refuses, what it writes, and that the small run is right."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

from mhsa_lib import plots
from mhsa_lib.bench import __main__ as command
from mhsa_lib.bench import machine, memory, suites
from mhsa_lib.bench.judge import Effort
from mhsa_lib.bench.registry import PASSES
from mhsa_lib.results.benchmarks import load, save
from mhsa_lib.results.cells import Cell
from mhsa_lib.results.records import OURS, UNIT, Entry, Race, Report

RATES = {
    "gemm_float32": 300.0, "gemm_bfloat16": 900.0, "exp": 4.0,
    "read_4_mb": 90.0, "read_64_mb": 50.0, "read_1024_mb": 30.0,
}  # fmt: skip
TINY = [Cell(1, 8, 16, 2), Cell(3, 8, 16, 2, "ragged", "training")]


@pytest.fixture(scope="module")
def small_run():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "rates", lambda: RATES)
        said: list[str] = []
        report = suites.measure("grid", Effort(1, 0.0), todo=TINY, say=said.append)
    return report, said


def test_the_small_run_is_right_and_says_every_cell(small_run):
    report, said = small_run
    assert len(said) == 2
    assert suites.wrong(report) == []
    for race, cell in zip(report.races, TINY, strict=True):
        assert race.cell == cell
        assert {e.name for e in race.entries} == set(PASSES)
        assert race.entry(OURS).error < 1e-5
        assert race.raw_ms > 0
        assert 0 < race.bound
        assert race.band >= 0.03
    assert report.races[1].entry(OURS).gradient_error < 1e-4


def test_the_json_has_all_fields_and_names_no_host_and_no_path(small_run, tmp_path):
    report, _ = small_run
    save(report, tmp_path / "out.json")
    text = (tmp_path / "out.json").read_text(encoding="utf-8")
    stored = json.loads(text)
    assert stored.keys() == {
        "date", "device", "machine", "rates", "method", "races", "peaks", "gpu",
    }  # fmt: skip
    assert stored["machine"].keys() == {
        "cpu", "flags", "cores", "threads", "memory_gb", "allocator", "system", "python",
        "torch_config", "float32_matmul", "versions",
    }  # fmt: skip
    assert stored["races"][0].keys() == {
        "cell", "entries", "raw_ms", "rounds", "thrown", "contaminated", "band", "bound",
        "best_peer", "against_best", "profile",
    }  # fmt: skip
    assert stored["machine"]["versions"].keys() == set(machine.PACKAGES)
    assert socket.gethostname() not in text
    assert os.sep + "home" not in text
    assert str(Path.cwd()) not in text
    assert len(load(tmp_path / "out.json").races) == 2


def test_pictures_are_drawn_by_mode_and_precision(small_run, tmp_path):
    written = suites.draw(small_run[0], tmp_path / "new")
    names = ["forward-float32.png", "training-float32.png"]
    names += ["profiles.png"] if any(race.lost for race in small_run[0].races) else []
    assert [path.name for path in written] == names
    assert all(path.stat().st_size > 10_000 for path in written)


def test_ours_that_is_wrong_anywhere_is_told():
    wrong = Entry(OURS, reason="wrong: output off by 1")
    race = Race(TINY[0], (wrong,), 1.0, 1, 0, False, 0.03)
    (failure,) = suites.wrong(Report("2026-01-31", "cpu", {}, {}, {}, (race,)))
    assert failure.endswith("forward: wrong: output off by 1")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--suite", "nothing"], "invalid choice: 'nothing'"),
        (["--threads", "0"], "--threads 0 is not a positive number"),
        (["--rounds", "-3"], "--rounds -3 is not a positive number"),
        (["--seconds", "nan"], "--seconds nan is not a positive number"),
        (["--device", "abacus"], "--device abacus is not known; use cpu or cuda"),
        (["--out", "no/such/folder/a.json"], "cannot be written"),
        (["--out", "."], "cannot be written"),
        (["--plot", "pyproject.toml"], "is a file; name a folder"),
        (["--alloc", "jemalloc"], "invalid choice"),
        (["--only", "typo"], "--only typo names no cell; there are: "),
        (["--only", "decode", "typo"], "--only typo names no cell"),
        (["--suite", "memory", "--only", "512"], "--only 512 names no cell; there are: none"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_timed(arguments, words, capsys):
    with pytest.raises(SystemExit) as stopped:
        command.parse(arguments)
    assert stopped.value.code == 2
    assert words in capsys.readouterr().err


def test_a_gpu_that_is_not_there_is_a_clear_error(monkeypatch, capsys):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(SystemExit):
        command.parse(["--device", "cuda"])
    assert "no CUDA device is at hand" in capsys.readouterr().err


def test_the_command_starts_and_explains_itself():
    done = subprocess.run(
        [sys.executable, "-m", "mhsa_lib.bench", "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "--quick" in done.stdout


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
    assert arguments[1:] == ["-m", "mhsa_lib.bench", "--quick"]
    assert machine.ALLOCATOR.items() <= environment.items()
    for name, value in machine.ALLOCATOR.items():
        monkeypatch.setenv(name, value)
    machine.restart_with("pinned", ["--quick"])
    assert len(started) == 1
    machine.restart_with("default", [])
    assert not machine.ALLOCATOR.keys() & started[1][2].keys()


# --- the limits of the machine ---------------------------------------------------------------


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


# --- pictures --------------------------------------------------------------------------------


def test_the_picture_shows_every_cell_with_its_band_its_limit_and_ours(small_run):
    races = small_run[0].races
    assert plots.ratios(races) is None
    axes = [ax for ax in plt.gcf().axes if ax.get_visible()]
    assert [ax.get_title() for ax in axes] == ["1 × 8, full", "3 × 8, ragged"]
    labels = [label.get_text() for label in axes[0].get_yticklabels()]
    assert labels[:2] == [OURS, UNIT]
    assert set(labels) == set(PASSES) - {"raw again"}
    for ax, race in zip(axes, races, strict=True):
        (band,) = ax.patches
        ends = band.get_x(), band.get_x() + band.get_width()
        assert ends == pytest.approx((1 / (1 + race.band), 1 + race.band))
        diamonds = [line for line in ax.lines if line.get_marker() == "D"]
        assert [line.get_xdata()[0] for line in diamonds] == [race.ours]
        assert diamonds[0].get_ydata()[0] == 0
    plt.close("all")


def test_the_picture_takes_a_choice_of_names(small_run):
    plots.ratios(small_run[0].races[:1], names=[OURS, "five stages"])
    (ax,) = plt.gcf().axes
    assert [label.get_text() for label in ax.get_yticklabels()] == [OURS, "five stages"]
    plt.close("all")


def test_nothing_to_draw_is_an_error():
    with pytest.raises(ValueError, match="races is empty"):
        plots.ratios([])
    with pytest.raises(ValueError, match="nothing was measured"):
        plots.memory({})


def test_memory_is_drawn_with_ours_in_front():
    plots.memory({OURS: {512: 5.0, 1024: 10.0}, "explicit": {512: 20.0, 1024: 80.0}})
    (ax,) = plt.gcf().axes
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    widths = {line.get_label(): line.get_linewidth() for line in ax.lines}
    assert widths[OURS] > widths["explicit"]
    plt.close("all")


def test_only_the_cells_that_are_asked_for():
    decoding = suites.chosen("all", quick=False, only=["decode"])
    assert decoding == suites.chosen("decode", quick=False)
    both = suites.chosen("all", quick=False, only=["decode", "8 × 128"])
    assert {cell.mode for cell in both} == {"decode", "forward", "training"}
    assert suites.chosen("all", quick=False, only=["no such words"]) == []
