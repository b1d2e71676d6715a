"""Runs in a file: the same after reading, whole or not at all, small, every name known."""

import json
from dataclasses import replace

import pytest

from mhsa_book.results import run_files
from mhsa_book.results.curves import Curve
from mhsa_book.results.run_files import kept, load, save
from tests.mhsa_book.results.experiment import ARMS, curve, experiment


@pytest.fixture
def file(tmp_path):
    save(experiment(), tmp_path / "demo.json")
    return tmp_path / "demo.json"


def test_runs_read_back_as_they_were(file):
    assert load(file) == experiment()
    assert kept("demo", file.parent) == experiment()
    assert load(file).arms["plain"].curves[3] == ARMS["plain"].curves[3]


def test_every_curve_is_a_line(file):
    lines = file.read_text(encoding="utf-8").splitlines()
    assert sum(line.startswith(('"0": {', '{"steps', '"7": {')) for line in lines) == 6
    assert len(lines) < 80


def test_runs_are_written_whole_or_not_at_all(file, monkeypatch):
    before = file.read_text(encoding="utf-8")

    def full(path, text, encoding):
        with path.open("w", encoding="utf-8") as half:
            half.write(text[:40])
        raise OSError("no space left on device")

    monkeypatch.setattr(run_files.Path, "write_text", full)
    with pytest.raises(OSError, match="no space"):
        save(experiment(question="Another?"), file)
    assert file.read_text(encoding="utf-8") == before
    assert [path.name for path in file.parent.iterdir()] == ["demo.json"]


def test_a_file_has_300_kb_at_most(tmp_path):
    long = Curve(tuple(range(12_000)), (0.123456,) * 12_000)
    arms = {
        name: replace(arm, curves={s: long for s in arm.curves}) for name, arm in ARMS.items()
    }
    with pytest.raises(ValueError, match=r"big\.json would have [\d,]+ bytes, and 300,000 is"):
        save(experiment(arms=arms), tmp_path / "big.json")
    assert list(tmp_path.iterdir()) == []


def test_the_limit_is_met_to_the_byte(file, monkeypatch):
    monkeypatch.setattr(run_files, "LIMIT", file.stat().st_size)
    save(experiment(), file)
    monkeypatch.setattr(run_files, "LIMIT", file.stat().st_size - 1)
    with pytest.raises(ValueError, match="evaluate less often, or round the values"):
        save(experiment(), file)


def changed(file, change):
    stored = json.loads(file.read_text(encoding="utf-8"))
    change(stored)
    file.write_text(json.dumps(stored), encoding="utf-8")
    return file


PLACES = {
    "the whole": (lambda s: s, r"demo\.json: unknown are \['wandb'\]"),
    "the measure": (lambda s: s["measure"], r"demo\.json, measure: unknown are \['wandb'\]"),
    "an arm": (lambda s: s["arms"]["wide"], r"demo\.json, arm 'wide': unknown are \['wandb'\]"),
    "a curve": (
        lambda s: s["arms"]["wide"]["curves"]["4"],
        r"demo\.json, arm 'wide', seed 4: unknown are \['wandb'\]",
    ),
}


@pytest.mark.bothways
@pytest.mark.parametrize("place", PLACES)
def test_what_it_does_not_know_is_refused_by_name(file, place):
    at, words = PLACES[place]
    with pytest.raises(ValueError, match=words):
        load(changed(file, lambda stored: at(stored).update(wandb=1)))


@pytest.mark.bothways
def test_what_is_missing_is_refused_by_name(file):
    words = r"unknown are \[\], missing \['predictions'\]; it holds exactly \['arms', 'date', "
    with pytest.raises(ValueError, match=words):
        load(changed(file, lambda stored: stored.pop("predictions")))


def test_what_is_read_keeps_the_rules(file):
    with pytest.raises(ValueError, match=r"seeds \[3\] of them are reported"):
        load(changed(file, lambda s: s["arms"]["wide"].update(tuned_on=[3])))


@pytest.mark.bothways
@pytest.mark.parametrize("machine", [{"versions": ("a", "b")}, {"threads": {1: "one"}}])
def test_what_would_not_read_back_is_refused(tmp_path, machine):
    with pytest.raises(ValueError, match=r"demo\.json would not read back as it was; settings"):
        save(experiment(machine=machine), tmp_path / "demo.json")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_name_lists_those_there_are(file):
    with pytest.raises(ValueError, match="no runs are kept as 'x'; there are: demo"):
        kept("x", file.parent)
    file.unlink()
    with pytest.raises(ValueError, match="there are: none"):
        kept("x", file.parent)


def test_a_curve_of_the_experiment_is_seeded():
    assert curve(0.9, 400, seed=1) == curve(0.9, 400, seed=1) != curve(0.9, 400, seed=2)
