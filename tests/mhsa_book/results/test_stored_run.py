"""A stored run comes back as it went, or the error says what to do."""

import json
from dataclasses import dataclass

import pytest

from mhsa_book.results import (
    bugs_in_a_model,
    cutting_heads,
    heads_sorted,
    stored_run,
    who_gets_the_drink,
    who_steps_in,
    whose_heads_name_mary,
)

MODULES = (
    bugs_in_a_model,
    cutting_heads,
    heads_sorted,
    who_gets_the_drink,
    who_steps_in,
    whose_heads_name_mary,
)


@dataclass(frozen=True)
class Small:
    predictions: tuple[str, ...]
    found: dict[str, list[float]]


RUN = Small(("It grows by ½.",), {"a": [0.5], "b": [1.0, 2.0]})


def test_a_run_comes_back(tmp_path):
    file = tmp_path / "new" / "small.json"
    stored_run.write(RUN, file)
    assert stored_run.read(Small, file, "small") == RUN


def test_an_entry_has_its_own_line(tmp_path):
    stored_run.write(RUN, tmp_path / "small.json")
    assert len((tmp_path / "small.json").read_text(encoding="utf-8").splitlines()) == 3


def test_what_is_too_large_leaves_the_old_file(tmp_path):
    file = tmp_path / "small.json"
    stored_run.write(RUN, file)
    with pytest.raises(ValueError, match=r"small\.json would have .* bytes"):
        stored_run.write(Small((), {"a": [0.123456789] * 30_000}), file)
    assert stored_run.read(Small, file, "small") == RUN


def test_a_missing_file_names_its_script(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"python -m mhsa_book\.experiments\.small"):
        stored_run.read(Small, tmp_path / "small.json", "small")


@pytest.mark.parametrize("change", [{"more": 1}, {"found": None}])
def test_other_fields_are_refused(tmp_path, change):
    fields = {"predictions": [], "found": {}} | change
    file = tmp_path / "small.json"
    stored = {name: value for name, value in fields.items() if value is not None}
    file.write_text(json.dumps(stored), encoding="utf-8")
    with pytest.raises(ValueError, match="it holds exactly"):
        stored_run.read(Small, file, "small")


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_stored_run_survives_being_written_again(module, tmp_path):
    found = module.kept()
    module.save(found, tmp_path / "again.json")
    assert module.kept(tmp_path / "again.json") == found
