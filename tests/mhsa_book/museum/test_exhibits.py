"""Every exhibit is wrong on its input, its check finds it, its symptom was measured."""

import inspect
from dataclasses import fields, replace

import pytest
import torch

from mhsa_book import museum
from mhsa_book.museum import by_hand, cheap_checks
from mhsa_book.museum.catalogue import Exhibit
from mhsa_book.museum.measured import effect
from mhsa_book.museum.parts import RIGHT, Parts, run
from mhsa_book.museum.problems import D_MODEL, inputs, same

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
    assert len(IN_A_MASK_OR_AN_AXIS) <= 10
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


def output_of_the_definition(parts: Parts, setting) -> bool:
    """The check of the weights, carried on to the rows that come out: also as loops."""
    if not by_hand.the_numbers_of_the_definition(RIGHT, setting):
        return False  # another setting: these loops do not define it
    given = inputs(setting, 2, 3, lengths=False)
    passed, W = run(parts, setting, given), given.W
    weights, d_head = run(RIGHT, setting, given).weights, D_MODEL // setting.n_heads
    y = torch.zeros(2, 3, D_MODEL)
    for b, i, h in torch.cartesian_prod(*map(torch.arange, (2, 3, setting.n_heads))).tolist():
        columns = slice(h * d_head, (h + 1) * d_head)
        values = [W.V[columns] @ given.x[b, j] + W.bias_V[columns] for j in range(3)]
        z = sum(weight * v for weight, v in zip(weights[b, h, i], values, strict=True))
        y[b, i] += W.O[:, columns] @ z
    return same(passed.output, y)


def test_a_comparison_of_the_output_finds_nine_more_than_one_of_the_weights():
    """What the museum's page says of its first check, and that its third is then contained."""
    by_weights, by_output, alone = (
        {each.name for each in ALL if each.found_by(check)}
        for check in (
            by_hand.the_numbers_of_the_definition,
            output_of_the_definition,
            cheap_checks.identity_mask_returns_values,
        )
    )
    assert by_weights < by_output
    assert (len(by_weights), len(by_output)) == (26, 35)
    assert alone <= by_output
    assert not alone <= by_weights
