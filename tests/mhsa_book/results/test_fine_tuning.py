"""Longer fine-tuning: written whole, read by name, and stored for every model of the study."""

import pytest

from mhsa_book.experiments.pruning.longer import asked
from mhsa_book.experiments.pruning.plan import Plan
from mhsa_book.results import fine_tuning
from mhsa_book.results.fine_tuning import Longer

ROWS = (
    Longer("greedy", 8, 9, {3: [0.1, 0.5], 4: [0.2, 0.25]}),
    Longer("random", 4, 2, {3: []}),
)


def test_what_was_written_is_read(tmp_path):
    fine_tuning.save(ROWS, tmp_path / "some.json")
    found = fine_tuning.kept(tmp_path / "some.json")
    assert found == ROWS
    assert found[0].loss() == {3: 0.5, 4: 0.25}


@pytest.mark.bothways
def test_a_missing_file_says_how_to_make_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"experiments\.pruning --longer"):
        fine_tuning.kept(tmp_path / "none.json")


@pytest.mark.bothways
def test_an_unknown_field_is_refused(tmp_path):
    (tmp_path / "some.json").write_text('[{"way": "greedy", "colour": 1}]', encoding="utf-8")
    with pytest.raises(ValueError, match=r"unknown are \['colour'\]"):
        fine_tuning.kept(tmp_path / "some.json")


def test_every_model_of_the_study_was_asked():
    rows = fine_tuning.kept()
    assert [(row.way, row.level, row.n_steps) for row in rows] == [*asked(Plan())]
    assert all([*row.losses] == [*Plan().seeds] for row in rows)
    assert fine_tuning.FILE.stat().st_size < 300_000
