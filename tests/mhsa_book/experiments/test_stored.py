"""What is stored of an experiment is what was planned, and training it again gives it again."""

import re

import pytest

from mhsa_book.experiments import (
    listing,
    planned,
    translation,
)
from mhsa_book.experiments.__main__ import described, main
from mhsa_book.experiments.repeating import again
from mhsa_book.experiments.trials import trial
from mhsa_book.results import run_files
from mhsa_book.results.claims import Claim
from tests.helpers.history import words_at

PLANNED: list[str] = ["enough_heads"]
"""Predictions are committed, and nothing is run yet."""

NAMES = [name for name in listing.names() if name not in PLANNED]
each = pytest.mark.parametrize("name", NAMES)
SWEEPS = ("enough_heads", "lookups", "one_lookup", "characters", "notes")
compared = pytest.mark.parametrize("name", [name for name in NAMES if name not in SWEEPS])
DRIFT = 0.5
"""Another processor adds in another order; over a whole training that drifts no further."""


def test_every_experiment_is_stored_or_planned_and_nothing_else():
    assert sorted(file.stem for file in run_files.FOLDER.glob("*.json")) == NAMES
    assert set(PLANNED) <= {*listing.names()}
    assert all("not stored" in described(name) for name in PLANNED)


@each
def test_what_is_stored_is_what_was_planned(name):
    runs, design = run_files.kept(name), listing.find(name)
    for part in ("name", "question", "measure", "level", "tolerance", "floor", "predictions"):
        assert getattr(runs, part) == getattr(design, part), part
    assert [*runs.arms] == [*design.arms]
    steps = tuple(range(design.every, design.n_steps + 1, design.every))
    for arm, setup in design.arms.items():
        stored = runs.arm(arm)
        assert stored.settings == setup.settings
        assert (stored.rates, stored.tuned_on) == (design.rates, design.tuned_on)
        assert {curve.steps for curve in stored.curves.values()} == {steps}
        assert tuple(sorted(stored.curves)) == design.seeds


@each
def test_predictions_are_in_the_commit_that_is_named(name):
    runs, file = run_files.kept(name), listing.source(name)
    words = words_at(runs.predictions_commit, file)
    for prediction in runs.predictions:
        assert " ".join(prediction.split()) in words


@each
def test_every_question_has_an_answer_or_says_why_not(name):
    runs, design = run_files.kept(name), listing.find(name)
    found = planned.answers(design, runs)
    assert [*found] == [*design.questions]
    for question, answer in found.items():
        assert isinstance(answer, Claim) or question.about == "final value"


@compared
def test_arms_of_equal_parameters_have_them_within_two_percent(name):
    arms = run_files.kept(name).arms
    sizes = [a.settings["parameters"] for n, a in arms.items() if "equal FLOPs" not in n]
    assert max(sizes) <= 1.02 * min(sizes)


@compared
def test_arms_of_equal_flops_have_them_within_three_percent(name):
    """The arm that a variant's FLOPs were matched to is the first of its experiment."""
    arms = run_files.kept(name).arms
    counts = [a.settings[key] for a in arms.values() for key in a.settings if "FLOPs" in key]
    first = counts[0]
    equal = [c for n, c in zip(arms, counts, strict=True) if "equal FLOPs" in n] or counts
    assert all(abs(count - first) <= 0.03 * first for count in equal)


def apart(values, others) -> float:
    return max(abs(float(a) - float(b)) for a, b in zip(values, others, strict=False))


@pytest.mark.nohook  # training takes thrice as long with every shape checked
@each
def test_the_first_steps_of_a_seed_come_out_again(name):
    """Far nearer to what is stored of the seed than any other seed's first steps are.

    Not bit for bit: which instructions a processor has decides in which order it adds, and
    neither its name nor torch tells which the stored runs had.
    """
    experiment = listing.find(name)
    arm, stored = next(iter(run_files.kept(name).arms.items()))
    first = {seed: curve.values[:2] for seed, curve in stored.curves.items()}
    nearest = min(apart(first[0], values) for seed, values in first.items() if seed)
    assert again(name, arm, 0, n_steps=2 * experiment.every) <= nearest / 10


@pytest.mark.nohook
def test_a_seed_trained_twice_on_one_machine_is_the_same_bit_for_bit():
    experiment = listing.find("collaborative")
    arm = next(iter(experiment.arms))
    rate = run_files.kept("collaborative").arm(arm).learning_rate
    once, twice = (trial(experiment, arm, rate, 0, 2 * experiment.every) for _ in range(2))
    assert once == twice


@pytest.mark.slow
@pytest.mark.nohook
@each
def test_a_whole_seed_comes_out_again(name):
    arm = [*run_files.kept(name).arms][-1]
    assert again(name, arm, 1) <= DRIFT


# --- the command line ------------------------------------------------------------------------


@each
def test_the_list_tells_predictions_runtime_and_date(name, capsys):
    runs = run_files.kept(name)
    text = " ".join(described(name).split())
    for prediction in runs.predictions:
        assert prediction in text
    assert f"stored {runs.date}: {runs.machine['seconds'] / 60:.0f} minutes" in text
    main(["--list"])
    assert described(name) in capsys.readouterr().out


def test_the_list_ends_with_the_studies(capsys):
    main(["--list"])
    text = capsys.readouterr().out
    assert listing.studies()
    for study in listing.studies():
        assert listing.listed(study) in text
    words = " ".join(listing.listed("translation").split())
    for prediction in translation.PREDICTIONS:
        assert prediction in words
    assert re.search(r"stored 20\d\d-\d\d-\d\d: \d+ minutes", words)


def test_the_command_line_refuses_what_there_is_not(capsys):
    with pytest.raises(SystemExit):
        main(["nope"])
    assert "nope is no experiment; there are" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"seed=77 is not stored; there are: \[0, 1"):
        again(NAMES[0], next(iter(run_files.kept(NAMES[0]).arms)), 77)
    with pytest.raises(ValueError, match=r"n_steps=3 ends before the first evaluation"):
        again(NAMES[0], next(iter(run_files.kept(NAMES[0]).arms)), 0, n_steps=3)
