"""An experiment as a whole: tuned, resumable, stored as planned, and answered."""

import json
import subprocess

import pytest
import torch

from mhsa_book.experiments import listing, planned, running
from mhsa_book.experiments.design import ANEW
from mhsa_book.experiments.trials import trial
from mhsa_book.results import run_files
from mhsa_book.results.claims import Claim
from tests.mhsa_book.experiments.tiny import TINY, no_training, train

pytestmark = pytest.mark.nohook  # training takes thrice as long with every shape checked

COMMIT = "a" * 40


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    return running.run(TINY, COMMIT, folder, train=train), folder


def test_every_arm_is_tuned_apart_and_trained_with_every_seed(whole):
    runs, folder = whole
    assert {name: arm.learning_rate for name, arm in runs.arms.items()} == {
        "copy": 0.1,
        "constant": 0.1,
        "copy again": 0.1,
    }
    assert runs.seeds == TINY.seeds
    assert runs.predictions_commit == COMMIT
    tuning, reported = 2 * 2 * 2, 3 * 8
    assert len([*folder.iterdir()]) == tuning + reported
    assert runs.machine["seconds"] >= 0


def test_a_stored_curve_is_that_of_its_trial(whole):
    runs, _ = whole
    assert runs.arm("constant").curves[3] == trial(TINY, "constant", 0.1, 3)


def test_the_twin_differs_from_its_arm_in_the_model_alone():
    one, other = (trial(TINY, name, 0.1, 0).values for name in TINY.floor)
    assert one != other
    twin = TINY.arms["copy again"]
    assert (twin.anew, TINY.arms["copy"].anew) == (ANEW, 0)
    seen = []
    for setup in (TINY.arms[name] for name in TINY.floor):
        seen.append(setup.draw(torch.Generator().manual_seed(0))[0])
    assert torch.equal(*seen)


def test_what_was_trained_is_not_trained_again(whole, tmp_path):
    runs, folder = whole
    rounds = []

    def progress(trials, total, desc):
        rounds.append((desc, total))
        return trials

    again = running.run(TINY, COMMIT, folder, train=no_training, progress=progress)
    assert rounds == [("tiny, tuning", 0), ("tiny, seeds", 0)]
    assert again.arms == runs.arms
    lost = sorted(folder.iterdir())[0]
    kept = lost.read_text(encoding="utf-8")
    lost.unlink()
    running.run(TINY, COMMIT, folder, train=train, progress=progress)
    assert sum(total for _, total in rounds[2:]) == 1
    found, before = json.loads(lost.read_text(encoding="utf-8")), json.loads(kept)
    assert (found["steps"], found["values"]) == (before["steps"], before["values"])


def test_it_is_saved_and_read_back(whole, tmp_path):
    runs, _ = whole
    run_files.save(runs, tmp_path / "tiny.json")
    assert run_files.load(tmp_path / "tiny.json") == runs


def test_planned_questions_are_answered_in_sentences(whole):
    runs, _ = whole
    found = planned.answers(TINY, runs)
    assert [*found] == [*TINY.questions]
    assert all(
        isinstance(claim, Claim) and claim.n_comparisons == 2 for claim in found.values()
    )
    text = planned.report(TINY, runs, width=70)
    assert text.count("\n\n") == 4
    assert text.count("copy against copy again") == 2
    assert " ".join(text.split()).endswith(
        "for 2 planned comparisons. 8 seeds give no p below 0.0078."
    )
    assert max(map(len, text.splitlines())) <= 70
    assert "copy and constant have the same accuracy within ±0.01" in text.replace("\n", " ")


def test_a_curve_that_still_moves_gives_no_final_value_and_counts_for_holm(tmp_path):
    runs = running.run(TINY, COMMIT, tmp_path / "moving", train=rising, n_processes=1)
    steps, final = planned.answers(TINY, runs).values()
    assert isinstance(steps, Claim)
    assert steps.n_comparisons == 2
    assert steps.corrected_p == min(1, 2 * steps.comparison.p)
    assert (
        "not all of the 8 curves have settled (copy: 8 have not; constant: 8 have not)" in final
    )


def rising(key):
    curve = no_training(key)
    values = tuple(round(step / 50, 6) for step in curve.steps)
    return type(curve)(curve.steps, values)


# --- predictions come first ------------------------------------------------------------------


def git(folder, *arguments):
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    done = subprocess.run(
        ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_predictions_have_to_be_committed(tmp_path):
    module = tmp_path / "asked.py"
    module.write_text("PREDICTIONS = ('yes',)", encoding="utf-8")
    git(tmp_path, "init", "-q")
    with pytest.raises(ValueError, match=r"asked\.py is not committed as it is; predictions"):
        running.predictions_commit(module)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "predictions")
    first = git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "other.py").write_text("", encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "something else")
    assert running.predictions_commit(module) == first
    module.write_text("PREDICTIONS = ('no',)", encoding="utf-8")
    with pytest.raises(ValueError, match="not committed as it is"):
        running.predictions_commit(module)


# --- the experiments of the book -------------------------------------------------------------


def test_unknown_experiments_are_refused_by_name():
    with pytest.raises(ValueError, match=r"no experiment is called 'nope'; there are: \w+"):
        listing.find("nope")


@pytest.mark.parametrize("name", listing.names())
def test_an_experiment_is_called_as_its_module(name):
    assert listing.find(name).name == name
    assert listing.source(name).is_file()
