"""What the chapters say of the experiments is what is stored."""

from statistics import median

import pytest

from mhsa_book.experiments import (
    collaborative,
    composed,
    grouped,
    induction,
    listing,
    mixture,
    notes,
    overlapped,
    planned,
)
from mhsa_book.results import run_files
from mhsa_book.results.claims import Claim
from mhsa_book.results.curves import ending, steps_to
from mhsa_book.results.run_files import FOLDER

each = pytest.mark.parametrize("name", sorted(file.stem for file in FOLDER.glob("*.json")))

SAID = {
    "characters": ["more"] * 4 + [None] * 2,
    "collaborative": ["not told apart"] * 4 + ["the same within the margin", None],
    "composed": [None] * 5 + ["less"],
    "enough_heads": [],
    "grouped": ["not told apart"] * 5 + ["the same within the margin"],
    "lookups": ["less", None, "the same within the margin"] + ["not told apart"] * 3,
    "mixture": ["not told apart"] * 6,
    "induction": ["more"] * 3 + [None] + ["the same within the margin"] * 2,
    "notes": ["more", None, "the same within the margin"],
    "one_lookup": [None, None, "not told apart", None, None, "not told apart"],
    "overlapped": ["less", "not told apart", "not told apart", "not told apart", None,
                   "not told apart"],
}  # fmt: skip
"""The verdict on each planned question, on which the text of its chapter rests."""


@each
def test_the_chapter_says_what_was_found(name):
    found = planned.answers(listing.find(name), run_files.kept(name)).values()
    verdicts = [answer.verdict if isinstance(answer, Claim) else None for answer in found]
    assert verdicts == SAID[name]


def test_notes_are_found_unless_a_key_is_narrow_or_weights_are_equal():
    runs = run_files.kept("notes")
    last = {
        name: [c.values[-1] for c in arm.curves.values()] for name, arm in runs.arms.items()
    }
    for name in (notes.OWN, notes.TWIN, notes.KEY_8):
        assert min(last[name]) > 0.99
    assert max(last[notes.KEY_4]) < 0.9
    assert max(last[notes.EQUAL]) < 1 / 7


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


def test_a_mixture_that_skips_no_head_arrives_before_plain_heads_in_every_seed():
    runs = run_files.kept("mixture")
    plain, every = (
        [steps_to(curve, runs.level) for curve in runs.arm(name).curves.values()]
        for name in ("plain", "mixture, 8 of 8 heads")
    )
    assert all(ours < theirs for ours, theirs in zip(every, plain, strict=True))


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
