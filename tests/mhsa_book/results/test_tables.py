"""Tables of a report, in text and in HTML."""

from dataclasses import replace

import pytest

from mhsa_book.results import tables
from mhsa_book.results.benchmarks import load, save
from mhsa_book.results.records import AGAIN, OURS, UNIT
from tests.mhsa_book.results.reports import CELL, made, report


@pytest.mark.parametrize(
    "sheet",
    [
        tables.table([made()]),
        tables.entries(made()),
        tables.memory(report()),
        tables.missing(report()),
        tables.ratios([made()]),
    ],
    ids=["table", "entries", "memory", "missing", "ratios"],
)
def test_a_table_draws_itself_in_text_and_in_html(sheet):
    lines = repr(sheet).splitlines()
    assert lines[0] == sheet.caption
    assert len(lines) == 2 + len(sheet.rows)
    html = sheet._repr_html_()
    assert html.count("<tr>") == 1 + len(sheet.rows)
    assert "<b>" not in html


def test_the_table_says_ratio_band_verdict_and_goal():
    (row,) = tables.table([replace(made(0.94, band=0.05), contaminated=True)]).rows
    assert row[1:] == (
        "12.5", "0.94 (0.93–0.95)", "raw 1.00", "0.94", "±5%", "ahead, disturbed",
        "≤ 0.93 raw", "no", "27%",
    )  # fmt: skip


def test_the_sizes_of_a_ratio_stand_in_columns_of_their_own():
    sheet = tables.ratios([made(0.94)])
    found = dict(zip(sheet.head, sheet.rows[0], strict=True))
    assert (found["batch"], found["tokens"]) == (str(CELL.batch), str(CELL.n_tokens))
    assert (found["ours / raw"], found["best peer"], found["ours / best"]) == (
        "0.94",
        "raw",
        "0.94",
    )
    assert "<table data-sorted " in sheet._repr_html_()
    assert "data-sorted" not in tables.table([made()])._repr_html_()


def test_where_a_goal_is_missed_a_profile_says_why(tmp_path):
    profile = {
        OURS: {"products": 1.25, "calls": 0.5},
        "<b>peer</b>": {"products": 1, "calls": 0},
    }
    missed, met = made(0.94, profile=profile), made(0.6)
    assert (missed.lost, met.lost) == (True, False)
    assert missed.share("calls") == 0.5 / 1.75
    sheet = tables.profiles([met, missed])
    assert sheet.head == ("cell", "implementation", "products", "calls")
    assert sheet.rows == ((repr(CELL), OURS, "1.25", "0.5"), ("", "<b>peer</b>", "1", "0"))
    save(report(missed), tmp_path / "a.json")
    assert load(tmp_path / "a.json").races[0].profile == profile
    assert tables.profiles([met]).rows == ()


def test_the_entries_run_from_the_fastest_to_the_absent():
    rows = tables.entries(made()).rows
    assert [row[0] for row in rows] == [OURS, UNIT, AGAIN, "<b>peer</b>", "absent"]
    assert rows[-1][-1] == "not run here: absent is not installed"
