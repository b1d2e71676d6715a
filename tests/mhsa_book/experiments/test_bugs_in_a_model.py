"""What stands in a language model's layers makes the mistakes of the museum's exhibits."""

import dataclasses
from pathlib import Path

import pytest
import torch

from mhsa_book import museum
from mhsa_book.exercises import in_the_model
from mhsa_book.exercises.bugs import matrices_of
from mhsa_book.experiments import bugs_in_a_model as bugs
from mhsa_book.experiments import bugs_shown
from mhsa_book.museum.parts import RIGHT, Inputs, Setting, run, step_by_step
from mhsa_book.results.bugs_in_a_model import Found, kept, save
from tests.helpers.history import words_at

N_HEADS, D_MODEL, SEQ = 4, 24, 7
STORED = kept()
SETTING = Setting(n_heads=N_HEADS, n_kv_heads=N_HEADS)


@pytest.fixture
def given():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, SEQ, D_MODEL, generator=generator)
    return x, torch.randn(4, D_MODEL, D_MODEL, generator=generator) / D_MODEL**0.5


def in_the_place_of_a_layer(name, n_given, x, W):
    rotate = in_the_model.rotate
    attention = bugs.build(name, n_given)(*W, n_heads=N_HEADS, rotate=rotate)
    return attention(x, torch.ones(x.shape[1], x.shape[1]).tril().bool())


@pytest.mark.parametrize("n_given", [1, 3, 6])
@pytest.mark.parametrize("name", bugs.IN_A_CACHE)
def test_a_mistake_with_the_cache_is_what_the_exhibit_does_token_by_token(name, n_given, given):
    x, W = given
    parts = museum.exhibit(name).all_parts
    cached = step_by_step(parts, SETTING, Inputs(x, matrices_of(*W)), n_first=n_given).output
    torch.testing.assert_close(in_the_place_of_a_layer(name, n_given, x, W), cached)
    whole = run(RIGHT, SETTING, Inputs(x, matrices_of(*W))).output
    assert not torch.allclose(cached[:, n_given:], whole[:, n_given:], atol=1e-2)


@pytest.mark.parametrize("name", bugs.IN_A_CACHE)
def test_a_text_that_is_read_in_one_pass_does_not_meet_it(name, given):
    x, W = given
    whole = run(RIGHT, SETTING, Inputs(x, matrices_of(*W))).output
    torch.testing.assert_close(in_the_place_of_a_layer(name, SEQ, x, W), whole)


@pytest.mark.parametrize(
    "name", ["mask_of_ones_added", "the_other_rotary_layout", "causal_mask_forgotten"]
)
def test_the_others_do_what_their_exhibits_do(name, given):
    x, W = given
    exhibit = museum.exhibit(name)
    expected = run(exhibit.all_parts, SETTING, Inputs(x, matrices_of(*W))).output
    torch.testing.assert_close(in_the_place_of_a_layer(name, 1, x, W), expected)


def test_another_base_is_another_rotation_and_the_own_one_is_not():
    q, k = torch.randn(2, 1, 2, 9, 8)
    own = bugs._of_another_base(10_000.0)(None, q, k)
    for found, expected in zip(own, in_the_model.rotate(q, k), strict=True):
        torch.testing.assert_close(found, expected)
    other = bugs._of_another_base(500_000.0)(None, q, k)
    assert not torch.allclose(other[0], own[0], atol=1e-2)


def test_tiled_heads_are_those_of_the_exhibit():
    kv = torch.randn(1, 3, 5, 2)  # three KV heads of two numbers
    shared = kv.repeat_interleave(3, dim=1).transpose(1, 2).flatten(2)[0]  # as lm.weights
    tiled = bugs._tiled(3)(shared).unflatten(1, (9, 2)).transpose(0, 1)
    torch.testing.assert_close(tiled, museum.exhibit("key_heads_tiled").wrong(kv, 9)[0])


def made_up():
    writes = {name: [f" {name} b", " c"] for name in ("right", "no_scale")}
    writes["the_last_text_is_remembered"] = [" 4417.", " Lisbon", " Rome", " Pepper"]
    reads = {"right": [2.0, 4.0], "no_scale": [3.0, 6.0]}
    alone = [" 12.", " Lisbon", " Oslo", " Max"]
    return Found(("a",), "b", "2026-01-31", {}, "c", writes, reads, {}, alone)


def test_costs_are_differences_sentence_by_sentence():
    found = made_up()
    assert found.costs("no_scale").mean == pytest.approx(1.5)
    assert 1.0 <= found.costs("no_scale").low <= found.costs("no_scale").high <= 2.0
    assert found.loss("no_scale") == pytest.approx(4.5)


def test_a_secret_counts_only_if_it_is_not_said_alone():
    assert made_up().tells(("4417", "Lisbon", "Paris", "Pepper")) == [True, False, False, True]


def test_the_first_word_is_compared_whatever_follows_it():
    found = made_up()
    assert not found.first_word_is_right("no_scale", 0)
    assert found.first_word_is_right("no_scale", 1)
    found.writes["right"] = [" girl named", " Paris.\n"]
    found.writes["no_scale"] = [" girl, a", " Parisian"]
    assert found.first_word_is_right("no_scale", 0)
    assert not found.first_word_is_right("no_scale", 1)


def test_the_table_begins_with_the_right_one_and_says_how_to_notice():
    table = bugs_shown.table(made_up())
    assert [row[0] for row in table.rows] == ["No mistake.", museum.exhibit("no_scale").title]
    assert table.rows[1][1:3] == ("… no_scale b", "4.5")
    assert "calculator" in table.rows[1][3]
    assert bugs_shown.table(made_up(), text=1).rows[1][1] == "… c"


def test_every_bug_costs_in_one_group_and_those_that_gain_show_the_future():
    groups = bugs_shown.costs(STORED)
    names = [name.replace(" ", "_") for rows in groups.values() for name in rows]
    assert sorted(names) == sorted({*STORED.reads} - {"right"})
    gain = {name for rows in groups.values() for name in rows if rows[name].high < 0}
    assert len(gain) == 4
    assert gain <= {*groups["tokens see later ones"]}
    x = torch.randn(1, SEQ, D_MODEL)
    W = torch.randn(4, D_MODEL, D_MODEL) / D_MODEL**0.5
    other = x.clone()
    other[:, -1] += 1
    for group, rows in groups.items():
        for name in (each.replace(" ", "_") for each in rows if "tiled" not in each):
            before, after = (in_the_place_of_a_layer(name, SEQ, each, W) for each in (x, other))
            sees = not torch.allclose(before[:, :-1], after[:, :-1], atol=1e-5)
            assert sees == (group == "tokens see later ones"), name


def test_texts_are_printed_behind_their_beginnings(capsys):
    bugs_shown.texts(STORED, "positions_begin_again")
    title, first, *_ = capsys.readouterr().out.splitlines()
    assert title == museum.exhibit("positions_begin_again").title
    assert first == "  The capital of France is… Paris. ↵ Paris ↵ Paris ↵ Paris ↵ Paris"


def test_rejected_tokens_are_printed_in_brackets_before_the_word_that_was_chosen(capsys):
    bugs_shown.texts(STORED, "rejected_tokens_stay")
    printed = capsys.readouterr().out.splitlines()
    assert printed[1].startswith(
        "  The capital of France is [London, and the]… Parisian cuisine"
    )
    assert max(map(len, printed)) <= 88


def test_every_bug_of_the_run_has_a_title():
    assert all(bugs_shown.said(name)[0].endswith(".") for name in bugs.NAMES)


def test_what_is_stored_is_read_back(tmp_path):
    file = tmp_path / "found.json"
    save(made_up(), file)
    assert kept(file) == made_up()
    file.write_text(
        file.read_text(encoding="utf-8").replace('"alone"', '"lonely"'), encoding="utf-8"
    )
    with pytest.raises(ValueError, match="missing \\['alone'\\]"):
        kept(file)
    with pytest.raises(FileNotFoundError, match="bugs_in_a_model"):
        kept(tmp_path / "none.json")


def test_a_name_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="'no_such' is no mistake"):
        bugs.build("no_such", 1)


def test_predictions_are_in_the_commit_that_is_named():
    words = words_at(STORED.predictions_commit, Path(bugs.__file__))
    assert STORED.predictions == bugs.PREDICTIONS
    for prediction in bugs.PREDICTIONS:
        assert all(part in words for part in prediction.split(", "))


def test_the_stored_run_is_whole():
    assert {*STORED.writes} == {*bugs.NAMES}
    assert {*STORED.reads} == {*bugs.NAMES} - {*bugs.IN_THE_TEXT}
    assert all(len(texts) == len(bugs.BEGINNINGS) for texts in STORED.writes.values())
    assert all(len(losses) == len(bugs.sentences()) for losses in STORED.reads.values())


def test_the_verdicts_are_those_of_the_page():
    failed = [i for i, true in enumerate(bugs.verdicts(STORED), start=1) if not true]
    assert failed == [1, 4, 8, 10]


def test_verdicts_read_what_was_found():
    """The right model's losses for all: then nothing costs, and nothing is lost."""
    same = dict.fromkeys(STORED.reads, STORED.reads["right"])
    writes = dict.fromkeys(STORED.writes, STORED.writes["right"])
    nothing = bugs.verdicts(dataclasses.replace(STORED, reads=same, writes=writes))
    assert nothing == (False, False, True, False, False, True, False, False, False, False)
