"""Stored numbers of removed heads: read back whole, by name, and summed up by one statistic."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from mhsa_book.experiments.pruning import PREDICTIONS, Plan, predictions
from mhsa_book.results import pruning, translators
from mhsa_book.results.hypergeometric import at_least
from mhsa_book.results.pruning import CHANCE, GREEDY, IMPORTANCE, L0, SCRATCH
from tests.helpers.history import words_at
from tests.mhsa_book.experiments.pruning.small import made_up

FOUND = made_up()


def test_it_is_saved_and_read_back(tmp_path):
    file = tmp_path / "pruning.json"
    pruning.save(FOUND, file)
    assert pruning.kept(file) == FOUND
    assert file.stat().st_size < 300_000


@pytest.mark.parametrize("where", ["the whole", "a seed"])
def test_fields_that_are_unknown_or_missing_are_named(tmp_path, where):
    file = tmp_path / "pruning.json"
    pruning.save(FOUND, file)
    stored = json.loads(file.read_text(encoding="utf-8"))
    place = stored if where == "the whole" else stored["models"]["3"]
    del place["date" if where == "the whole" else "roles"]
    place["colour"] = "blue"
    file.write_text(json.dumps(stored), encoding="utf-8")
    missing = "date" if where == "the whole" else "roles"
    with pytest.raises(ValueError, match=rf"unknown are \['colour'\], missing \['{missing}'\]"):
        pruning.kept(file)


@pytest.mark.bothways
def test_a_missing_file_says_how_to_make_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"python -m mhsa_book\.experiments\.pruning"):
        pruning.kept(tmp_path / "none.json")


def test_too_much_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(pruning, "LIMIT", 1000)
    with pytest.raises(ValueError, match="and 1,000 is the limit"):
        pruning.save(FOUND, tmp_path / "pruning.json")
    assert not [*tmp_path.iterdir()]


def test_a_loss_is_that_of_its_way_level_and_time():
    assert FOUND.loss(L0, 8)[3] == 1 / 8 + 0.003
    assert FOUND.loss(L0, 8, "before")[3] == 1 / 8 + 0.003 + 1
    assert FOUND.loss(SCRATCH, 4)[3] == 0.01 + 3e-4
    assert FOUND.whole("order")[0] == 0
    with pytest.raises(ValueError, match="'size' was not measured; there are: order, sense"):
        FOUND.loss(L0, 8, task="size")


def test_random_is_the_mean_of_its_draws():
    one = 6 / 8 + 0.003
    assert FOUND.loss(CHANCE, 8)[3] == pytest.approx((one + 2 * one) / 2)


def test_an_interval_is_that_of_student():
    mean, low, high = FOUND.interval(L0, 8)
    spread = 2.449489742783178e-3 / 8**0.5  # of 0 to 7 thousandths
    assert mean == pytest.approx(1 / 8 + 0.0035)
    assert (high - low) / 2 == pytest.approx(2.3646 * spread, rel=1e-4)


def test_what_is_kept_are_the_first_heads_of_an_order():
    assert FOUND.kept(GREEDY, 4)[0] == [[0, 1, 2, 3]]
    assert FOUND.kept(IMPORTANCE, 4)[0] == [[23, 22, 21, 20]]
    assert FOUND.kept(CHANCE, 2)[7] == [[0, 1], [23, 22]]
    assert FOUND.kept(L0, 8)[0] == [[*range(8)]]


def test_heads_with_two_roles_count_once_and_seeds_add_up():
    found, expected, p = FOUND.survival(GREEDY, 4)
    assert (found, expected) == (8 * 4, pytest.approx(8 * 4 * 4 / 24))
    assert p == at_least(32, 24, [4] * 8, 4)
    assert FOUND.survival(IMPORTANCE, 12)[0] == 0
    assert FOUND.survival(IMPORTANCE, 12)[2] == pytest.approx(1)
    assert FOUND.survival(GREEDY, 4, "alignment")[0] == 8
    assert FOUND.survival(CHANCE, 4)[0] == 8 * 4


# --- what is stored --------------------------------------------------------------------------


def test_the_stored_study_is_the_planned_one_and_its_models_are_those_of_chapter_10():
    found = pruning.kept()
    plan = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(Plan()).items()}
    assert found.settings == plan
    assert found.predictions == PREDICTIONS
    words = words_at(found.predictions_commit, Path(predictions.__file__))
    assert all(" ".join(prediction.split()) in words for prediction in PREDICTIONS)
    assert pruning.FILE.stat().st_size < 300_000
    of_chapter_10 = translators.kept()
    assert found.heads == of_chapter_10.heads
    for seed in found.seeds:
        whole = of_chapter_10.models[str(seed)]["whole"]
        for task in found.tasks[:4]:
            assert found.whole(task)[seed] == pytest.approx(whole[task], abs=1e-3)


def test_gates_are_those_of_evaluation_mode():
    gates = FOUND.gates(8)[0]
    assert gates == [1.0] * 8 + [0.0] * 16
