"""What is kept: the same after reading, whole or not at all."""

import json
from dataclasses import replace

import pytest

from mhsa_book.results import benchmarks
from mhsa_book.results.benchmarks import kept, load, save
from tests.mhsa_book.results.reports import made, report


def test_a_report_reads_back_as_it_was(tmp_path):
    file = tmp_path / "cpu.json"
    save(report(), file)
    assert load(file) == report()
    assert kept("cpu", tmp_path) == report()
    assert json.loads(file.read_text(encoding="utf-8"))["races"][0]["entries"][4] == {
        "name": "absent",
        "reason": "not run here: absent is not installed",
    }


def test_numbers_are_kept_to_four_digits(tmp_path):
    save(report(replace(made(), raw_ms=12.3456789)), tmp_path / "a.json")
    assert load(tmp_path / "a.json").races[0].raw_ms == 12.35


def test_a_report_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    file = tmp_path / "cpu.json"
    save(report(), file)
    before = file.read_text(encoding="utf-8")

    def full(path, text, encoding):
        with path.open("w", encoding="utf-8") as half:
            half.write(text[:40])
        raise OSError("no space left on device")

    monkeypatch.setattr(benchmarks.Path, "write_text", full)
    with pytest.raises(OSError, match="no space"):
        save(report(made(0.9)), file)
    assert file.read_text(encoding="utf-8") == before
    assert [path.name for path in tmp_path.iterdir()] == ["cpu.json"]


def test_an_unknown_name_lists_those_there_are(tmp_path):
    with pytest.raises(ValueError, match="no benchmark is kept as 'gpu'; there are: none"):
        kept("gpu", tmp_path)
    save(report(), tmp_path / "cpu.json")
    with pytest.raises(ValueError, match="there are: cpu"):
        kept("gpu", tmp_path)
