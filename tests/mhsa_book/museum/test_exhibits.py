"""Every exhibit is wrong on its input, its check finds it, its symptom was measured."""

import inspect
from dataclasses import fields, replace

import pytest
import torch

from mhsa_book import museum
from mhsa_book.museum import by_hand, cheap_checks
from mhsa_book.museum.catalogue import Exhibit
from mhsa_book.museum.families import VARIATIONS
from mhsa_book.museum.measured import effect
from mhsa_book.museum.parts import RIGHT, Parts, run
from mhsa_book.museum.problems import inputs, same

ALL = museum.exhibits()
NAMES = [each.name for each in ALL]
IN_A_MASK_OR_AN_AXIS = {
    *(each.name for each in museum.exhibits(stage="mask")),
    "softmax_over_queries",
    "softmax_over_heads",
} - {"two_masks_added", "minus_a_billion_in_half"}  # a number that is too small, a dtype

every = pytest.mark.parametrize("exhibit", ALL, ids=NAMES)


def outcome(exhibit: Exhibit, parts: Parts):
    """The tensor that is looked at, or the error that is raised."""
    try:
        return exhibit.problem(parts, exhibit.setting)
    except (RuntimeError, IndexError) as error:
        return error


def test_there_are_enough_and_not_all_of_one_kind():
    assert len(ALL) >= 40
    assert len(IN_A_MASK_OR_AN_AXIS) <= len(ALL) / 4
    assert {each.stage for each in ALL} == {*museum.STAGES}
    assert {each.symptom for each in ALL} == {*museum.SYMPTOMS}


@every
def test_it_is_wrong_on_its_input(exhibit):
    right, wrong = outcome(exhibit, RIGHT), outcome(exhibit, exhibit.all_parts)
    assert isinstance(right, torch.Tensor)
    assert right.isfinite().all()
    if isinstance(wrong, torch.Tensor):
        assert right.shape != wrong.shape or not torch.allclose(right, wrong, atol=1e-3)


@every
def test_its_check_finds_it_and_lets_the_right_one_pass(exhibit):
    assert exhibit.check(RIGHT, exhibit.setting)
    assert exhibit.found_by(exhibit.check)


def noticed(exhibit: Exhibit) -> str:
    """What a user would notice, by the rules that the page states."""
    found, wrong = effect(exhibit), outcome(exhibit, exhibit.all_parts)
    if isinstance(wrong, Exception):
        return "error"
    if not wrong.isfinite().all():
        return "nan"
    still = replace(exhibit.setting, dropout=0.0)
    sees = exhibit.name == "labels_not_shifted"
    try:
        sees |= not cheap_checks.the_future_is_hidden(exhibit.all_parts, still)
    except RuntimeError:
        sees |= False  # it cannot be run at that size
    if sees:
        return "leaks"
    pairs = [*zip(found.wrong, found.right, strict=True)]
    if all(w.losses[-1] > 1.5 * r.losses[-1] for w, r in pairs):
        return "worse"
    wrote, right = found.mean("written"), found.mean_right("written")
    if wrote is None or wrote < right - 0.1:
        return "in use"
    if all(w.borrowed < r.borrowed - 0.003 for w, r in pairs):
        return "converted"
    return "elsewhere"


@every
def test_its_symptom_is_what_was_measured(exhibit):
    assert exhibit.symptom == noticed(exhibit)


def test_a_check_that_does_not_fit_the_setting_finds_nothing():
    exhibit = museum.exhibit("alibi_with_the_other_sign")
    check = by_hand.the_numbers_of_the_definition  # of rotary positions
    assert not check(RIGHT, exhibit.setting)
    assert not check(exhibit.all_parts, exhibit.setting)
    assert not exhibit.found_by(check)


@every
def test_its_diff_has_lines_that_go_and_lines_that_come(exhibit):
    lines = exhibit.diff.splitlines()
    gone = [line for line in lines if line.startswith("- ")]
    new = [line for line in lines if line.startswith("+ ")]
    assert gone or new
    assert len(gone) + len(new) <= 14
    assert any(line.startswith("  def ") for line in lines)


@every
def test_it_is_called_like_the_right_one(exhibit):
    for name, wrong in exhibit.parts.items():
        right = getattr(RIGHT, name)
        assert [*inspect.signature(wrong).parameters] == [*inspect.signature(right).parameters]
    assert exhibit.wrong is exhibit.parts[next(iter(exhibit.parts))]
    assert exhibit.title.endswith(".")


def test_every_part_has_a_name_of_its_own_and_every_check_finds_something():
    checks = {
        name: value
        for room in (cheap_checks, by_hand)
        for name, value in vars(room).items()
        if inspect.isfunction(value) and value.__module__ == room.__name__ and name[0] != "_"
    }
    assert {each.check for each in ALL} == {*checks.values()}
    assert {name for each in ALL for name in each.parts} <= {f.name for f in fields(Parts)}


def test_names_that_there_are_not_are_refused_by_name():
    with pytest.raises(ValueError, match=r"'no_skale' is no exhibit; there are .*no_scale"):
        museum.exhibit("no_skale")
    with pytest.raises(ValueError, match="stage='heads' is none; choose from project, split"):
        museum.exhibits(stage="heads")
    with pytest.raises(ValueError, match="symptom='slow' is none"):
        museum.exhibits(symptom="slow")


@every
def test_it_was_found_in_the_wild(exhibit):
    assert exhibit.found
    for case in exhibit.found:
        assert case.url.startswith(f"https://github.com/{case.project}/")
        assert 5 <= len(case.what.split()) <= 30
        assert case.what.endswith((".", "?"))
    exact = [case.exact for case in exhibit.found]
    assert exact == sorted(exact, reverse=True)


def test_most_were_found_exactly_as_shown():
    exact = [each.name for each in ALL if each.found[0].exact]
    assert len(exact) >= 35


def weights_of_the_definition(parts: Parts, setting) -> bool:
    """The check of the rows, stopped at the weights: with a right one beside it."""
    if not by_hand.the_numbers_of_the_definition(RIGHT, setting):
        return False  # another setting: these loops do not define it
    given = inputs(setting, 2, 3, lengths=False)
    found, right = (run(each, setting, given).weights for each in (parts, RIGHT))
    return same(found, right)


def test_a_comparison_of_the_output_finds_what_one_of_the_weights_misses():
    """What the museum's page says of its first check."""
    by_weights, by_output, alone = (
        {each.name for each in ALL if each.found_by(check)}
        for check in (
            weights_of_the_definition,
            by_hand.the_numbers_of_the_definition,
            cheap_checks.identity_mask_returns_values,
        )
    )
    assert by_weights < by_output
    first = {*FIRST_58}
    assert (len(by_weights & first), len(by_output & first)) == (26, 35)
    assert (len(by_weights), len(by_output)) == (29, 38)
    assert alone <= by_output
    assert not alone <= by_weights


ADDED = {
    *("causal_mask_forgotten", "padding_mask_forgotten", "memory_padding_ignored"),
    *("packed_texts_see_each_other", "window_one_too_long", "mask_of_ones_added"),
    *("base_of_another_model", "padding_counts_as_positions", "output_bias_on_every_device"),
    *("rejected_tokens_stay", "end_taken_for_padding"),
}
"""What a review missed: the ten most important bugs, one of them in two forms."""
FIRST_58 = [name for name in NAMES if name not in ADDED]


def test_the_ten_bugs_that_were_missed_are_there():
    assert {*NAMES} >= ADDED
    assert len(FIRST_58) == 58


def test_every_exhibit_belongs_to_one_mistake():
    named = [name for names in VARIATIONS.values() for name in names]
    assert len(named) == len({*named})
    assert {*named} <= {*NAMES}
    assert all(len(names) > 1 for names in VARIATIONS.values())
    found = museum.families()
    assert sorted(each.name for of in found.values() for each in of) == sorted(NAMES)
    assert len(found) == len(NAMES) - len(named) + len(VARIATIONS)


@pytest.mark.parametrize(
    "name",
    [
        *("packed_in_another_order", "new_keys_in_front", "one_projection_for_all_heads"),
        *("rotary_before_the_split", "columns_dealt_like_cards", "heads_begin_alike"),
        *("heads_and_columns_exchanged", "one_slice_of_W_O_for_all_heads"),
    ],
)
def test_another_mistake_in_the_wild_is_not_called_exact(name):
    assert not any(case.exact for case in museum.exhibit(name).found)


def test_the_cases_of_two_exhibits_are_flagged_one_by_one():
    alibi, rows = (
        {case.project: case.exact for case in museum.exhibit(name).found}
        for name in ("alibi_with_the_other_sign", "rows_changed_in_place")
    )
    assert alibi == {"meta-pytorch/attention-gym": True, "paiml/aprender": False}
    assert rows["ml-explore/mlx-lm"]
    assert not rows["flashinfer-ai/flashinfer"]
    assert museum.exhibit("scaled_after_the_softmax").found[0].exact
