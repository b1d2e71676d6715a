"""The stored run of the GPU, as a chapter reads it."""

import json

import pytest

from mhsa_book.results import kernels_on_a_gpu as results

STORED = json.loads(results.FILE.read_text(encoding="utf-8"))


def test_every_row_of_the_file_is_there():
    assert len(results.kept().rows) == len(STORED["rows"])
    for row, stored in zip(results.kept().rows, STORED["rows"], strict=True):
        assert {name: getattr(row, name) for name in stored} == stored
        assert (row.ms is None) == (row.reason is not None)


def test_rows_of_a_need_are_those_of_its_size_that_ran():
    gpu = results.kept()
    found = gpu.of("one query", 16_384, batch=16)
    wanted = [
        row["way"]
        for row in STORED["rows"]
        if (row["need"], row["n_key"], row["batch"]) == ("one query", 16_384, 16)
        and "ms" in row
    ]
    assert [*found] == wanted
    assert "SDPA, EFFICIENT_ATTENTION" not in found  # it has a reason and no time
    assert {row.batch for row in gpu.of("one query", 16_384).values()} == {1}


def test_columns_are_the_numbers_of_the_rows():
    ways = ("FlexAttention", "SDPA, boolean tensor")
    columns = results.kept().columns("documents", 4096, ways)
    rows = {
        row["way"]: row
        for row in STORED["rows"]
        if (row["need"], row["n_key"]) == ("documents", 4096)
    }
    assert columns["ms"] == [rows[way]["ms"] for way in ways]
    assert columns["MB"] == [rows[way]["peak_mb"] for way in ways]
    assert columns["error, 1e-4"] == pytest.approx([1e4 * rows[way]["error"] for way in ways])


def test_a_need_or_a_size_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"need='padding'.*needs are \['causal'"):
        results.kept().of("padding", 4096)
    with pytest.raises(ValueError, match=r"n_key=512.*\(4096, 1\), \(16384, 1\)"):
        results.kept().of("window", 512)


def test_where_it_was_made_is_told_in_one_line():
    where = results.kept().where
    assert STORED["gpu"] in where
    assert STORED["date"] in where
    assert STORED["machine"]["versions"]["torch"].startswith(where.split("torch ")[1][:4])
