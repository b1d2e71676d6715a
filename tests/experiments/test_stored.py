"""What is stored of an experiment is what was planned, and training it again gives it again."""

import re
import subprocess
from statistics import median

import pytest

from mhsa_lib.experiments import (
    collaborative,
    composed,
    grouped,
    induction,
    listing,
    mixture,
    overlapped,
    planned,
    running,
    translation,
)
from mhsa_lib.experiments.__main__ import described, main
from mhsa_lib.experiments.repeating import again
from mhsa_lib.results import run_files
from mhsa_lib.results.claims import Claim
from mhsa_lib.results.curves import ending, steps_to

NAMES = listing.names()
each = pytest.mark.parametrize("name", NAMES)
DRIFT = 0.1
"""Another processor adds in another order; over a few hundred steps that drifts no further."""


def test_every_experiment_is_stored_and_nothing_else():
    assert sorted(file.stem for file in run_files.FOLDER.glob("*.json")) == NAMES


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
    told = subprocess.run(
        ["git", "show", f"{runs.predictions_commit}:./{file.name}"],
        cwd=file.parent,
        check=False,
        capture_output=True,
        text=True,
    )
    if told.returncode:
        pytest.skip(f"the commit is not in this copy of the repository: {told.stderr.strip()}")
    words = " ".join(told.stdout.replace('"', " ").split())
    for prediction in runs.predictions:
        assert " ".join(prediction.split()) in words


@each
def test_every_question_has_an_answer_or_says_why_not(name):
    runs, design = run_files.kept(name), listing.find(name)
    found = planned.answers(design, runs)
    assert [*found] == [*design.questions]
    for question, answer in found.items():
        assert isinstance(answer, Claim) or question.about == "final value"


@each
def test_arms_of_equal_parameters_have_them_within_two_percent(name):
    arms = run_files.kept(name).arms
    sizes = [a.settings["parameters"] for n, a in arms.items() if "equal FLOPs" not in n]
    assert max(sizes) <= 1.02 * min(sizes)


@each
def test_arms_of_equal_flops_have_them_within_three_percent(name):
    """The arm that a variant's FLOPs were matched to is the first of its experiment."""
    arms = run_files.kept(name).arms
    counts = [a.settings[key] for a in arms.values() for key in a.settings if "FLOPs" in key]
    first = counts[0]
    equal = [c for n, c in zip(arms, counts, strict=True) if "equal FLOPs" in n] or counts
    assert all(abs(count - first) <= 0.03 * first for count in equal)


@pytest.mark.nohook  # training takes thrice as long with every shape checked
@each
def test_the_first_steps_of_a_seed_come_out_again(name):
    runs = run_files.kept(name)
    apart = again(name, next(iter(runs.arms)), 0, n_steps=2 * listing.find(name).every)
    assert apart <= (0 if same_machine(runs) else DRIFT)


@pytest.mark.slow
@pytest.mark.nohook
@each
def test_a_whole_seed_comes_out_again(name):
    runs = run_files.kept(name)
    arm = [*runs.arms][-1]
    assert again(name, arm, 1) <= (0 if same_machine(runs) else 5 * DRIFT)


def same_machine(runs) -> bool:
    machine = running.machine()
    return all(runs.machine[key] == machine[key] for key in ("cpu", "torch"))


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


# --- what the chapters say of them -----------------------------------------------------------

SAID = {
    "collaborative": ["not told apart"] * 4 + ["the same within the margin", None],
    "composed": [None] * 5 + ["less"],
    "grouped": ["not told apart"] * 5 + ["the same within the margin"],
    "mixture": ["not told apart"] * 6,
    "induction": ["more"] * 3 + [None] + ["the same within the margin"] * 2,
    "overlapped": ["less", "not told apart", "not told apart", "not told apart", None,
                   "not told apart"],
}  # fmt: skip
"""The verdict on each planned question, on which the text of its chapter rests."""


@each
def test_the_chapter_says_what_was_found(name):
    found = planned.answers(listing.find(name), run_files.kept(name)).values()
    verdicts = [answer.verdict if isinstance(answer, Claim) else None for answer in found]
    assert verdicts == SAID[name]


def test_overlapping_heads_need_less_than_half_the_steps_of_heads_as_narrow():
    runs = run_files.kept("overlapped")
    names = overlapped.OVERLAP, overlapped.NARROW
    ours, narrow = (
        median(steps_to(curve, runs.level) for curve in runs.arm(name).curves.values())
        for name in names
    )
    assert ours < narrow / 2
    below = {
        name: sum(ending(curve).mean < 0.99 for curve in runs.arm(name).curves.values())
        for name in runs.arms
    }
    wide = (overlapped.PAIRS, overlapped.WIDE, overlapped.SAME_FLOPS)
    assert all(below[name] == 0 for name in wide)
    assert 0 < below[overlapped.OVERLAP] < 4
    assert 0 < below[overlapped.TWIN] < 4


def test_collaborative_heads_come_in_an_evaluation_earlier_and_most_rates_are_the_largest():
    runs = run_files.kept("collaborative")
    medians = {
        name: median(
            steps_to(curve, runs.level) or runs.horizon + 1
            for curve in runs.arm(name).curves.values()
        )
        for name in runs.arms
    }
    every = collaborative.EXPERIMENT.every
    one, four = collaborative.ONE, collaborative.FOUR
    assert medians[f"collaborative, {one}"] == medians[f"plain, {one}"] - every
    assert medians[f"collaborative, {four}"] > medians[f"plain, {four}"]
    largest = [arm.learning_rate == max(arm.rates) for arm in runs.arms.values()]
    assert sum(largest) > len(largest) / 2


def seeds_below(runs, value):
    return {
        name: sum(ending(curve).mean < value for curve in arm.curves.values())
        for name, arm in runs.arms.items()
    }


def test_only_narrow_queries_on_one_key_leave_late_seeds():
    runs = run_files.kept("grouped")
    below = {name: n for name, n in seeds_below(runs, 0.998).items() if n}
    assert below == {grouped.MQA: 3, grouped.SAME_FLOPS: 2}
    assert {name for name, arm in runs.arms.items() if latest(arm, runs.level) > 800} == {
        *below
    }
    assert {arm.settings["parameters"] for arm in runs.arms.values()} == {9_213, 8_893}


def test_where_heads_are_skipped_about_half_of_the_seeds_stop_a_little_short():
    runs = run_files.kept("mixture")
    below = {name: n for name, n in seeds_below(runs, 0.99).items() if n}
    assert below == {mixture.HALF: 5, mixture.UNBALANCED: 4}
    medians = {
        name: median(
            steps_to(curve, runs.level) or runs.horizon + 1 for curve in arm.curves.values()
        )
        for name, arm in runs.arms.items()
    }
    assert min(medians, key=medians.get) == mixture.ALL
    assert all(steps_to(c, runs.level) for c in runs.arm(mixture.UNBALANCED).curves.values())


def test_three_plain_heads_were_not_through_when_composed_ones_were():
    runs = run_files.kept("composed")
    moving = {name: len(runs.unsettled(name)) for name in runs.arms}
    assert moving[composed.COMPOSED] == 0
    assert min(moving[name] for name in (composed.WIDE, composed.SAME_FLOPS)) > 4
    arrived = [steps_to(c, runs.level) for c in runs.arm(composed.CONTROL).curves.values()]
    assert sum(step is not None for step in arrived) > 4


def latest(arm, level):
    return max(steps_to(curve, level) for curve in arm.curves.values())


def test_one_layer_stops_near_0_7_and_two_predictions_about_it_failed():
    runs = run_files.kept("induction")
    ends = {
        name: [ending(curve).mean for curve in arm.curves.values()]
        for name, arm in runs.arms.items()
    }
    eight, two = ends[induction.EIGHT], ends[induction.TWO]
    assert 0.68 < min(eight + two) <= max(eight) < 0.73
    assert 0.75 < max(two) < 0.76
    assert sum(eight) < sum(two)
    assert [len(runs.unsettled(name)) for name in (induction.EIGHT, induction.TWO)] == [0, 1]
    depth = (induction.FOUR, induction.ONE, induction.SMEARED)
    assert min(min(ends[name]) for name in depth) > 0.95
    assert all(
        (steps_to(curve, runs.level) or runs.horizon) <= 500
        for name in depth
        for curve in runs.arm(name).curves.values()
    )
