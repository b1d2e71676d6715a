"""The command: what it refuses, what it writes and draws, and that the small run is right."""

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

from mhsa_book import plots
from mhsa_book.bench import __main__ as command
from mhsa_book.bench import machine, suites
from mhsa_book.bench.judge import Effort
from mhsa_book.bench.registry import PASSES
from mhsa_book.results.benchmarks import load, save
from mhsa_book.results.cells import Cell
from mhsa_book.results.records import OURS, UNIT, Entry, Race, Report
from tests.mhsa_book.bench.rates import RATES

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
        [sys.executable, "-m", "mhsa_book.bench", "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "--quick" in done.stdout


def test_only_the_cells_that_are_asked_for():
    decoding = suites.chosen("all", quick=False, only=["decode"])
    assert decoding == suites.chosen("decode", quick=False)
    both = suites.chosen("all", quick=False, only=["decode", "8 × 128"])
    assert {cell.mode for cell in both} == {"decode", "forward", "training"}
    assert suites.chosen("all", quick=False, only=["no such words"]) == []


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
