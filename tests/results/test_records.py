"""What is kept: the same after reading, whole or not at all, and honest about ties."""

import json
from dataclasses import replace

import pytest

from mhsa_lib.results import benchmarks, tables
from mhsa_lib.results.benchmarks import kept, load, save
from mhsa_lib.results.cells import Cell, Goal, decode, goal, grid
from mhsa_lib.results.records import AGAIN, OURS, UNIT, Entry, Peak, Race, Report

CELL = Cell(8, 512, 512, 8, "causal")


def made(ours=0.5, against=None, band=0.03, cell=CELL, **more):
    entries = (
        Entry(UNIT, (1.0, 1.0, 1.0), 1e-6, None, 9),
        Entry(AGAIN, (0.99, 1.0, 1.01), 1e-6, None, 9),
        Entry(OURS, (ours - 0.01, ours, ours + 0.01), 2e-6, None, 9),
        Entry("<b>peer</b>", (1.1, 1.2, 1.3), 1e-6, None, 9),
        Entry("absent", reason="not run here: absent is not installed"),
    )
    against = ours if against is None else against
    return Race(
        cell, entries, 12.5, 9, 2, False, band,
        bound=0.25, best_peer=UNIT, against_best=(against, against, against), **more,
    )  # fmt: skip


def report(*races):
    peaks = (Peak(OURS, "full", 512, 5.5), Peak("absent", "full", 512, reason="not run here"))
    return Report(
        "2026-01-31", "cpu", {"cpu": "x", "cores": 2}, {"exp": 1.0}, {"rounds": 9},
        races or (made(),), peaks,
    )  # fmt: skip


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


@pytest.mark.parametrize(
    ("against", "band", "verdict"),
    [
        (0.96, 0.03, "ahead"),
        (0.98, 0.03, "tie"),
        (1.029, 0.03, "tie"),
        (1.04, 0.03, "behind"),
        (0.90, 0.15, "tie"),
        (1.10, 0.15, "tie"),
    ],
)
def test_no_win_and_no_loss_is_told_inside_the_band(against, band, verdict):
    assert made(against=against, band=band).verdict == verdict


def test_a_cell_in_which_ours_has_no_time_has_no_verdict():
    failed = tuple(
        Entry(OURS, reason="wrong: output off by 1") if entry.name == OURS else entry
        for entry in made().entries
    )
    race = replace(made(), entries=failed, against_best=None)
    assert (race.verdict, race.ours, race.met) == ("not run", None, None)


def test_a_goal_is_met_by_ours_over_raw_or_over_the_best_peer():
    assert made(0.93).met
    assert not made(0.94).met
    training = Cell(8, 512, 512, 8, "causal", "training")
    assert made(1.2, against=1.03, cell=training).met
    assert not made(1.0, against=1.04, cell=training).met
    tie = Cell(8, 128, 512, 8)
    assert made(1.1, against=1.02, cell=tie).met
    assert not made(1.1, against=1.05, cell=tie).met


def test_every_cell_of_the_suites_has_the_goal_of_the_table():
    for cell in [*grid(), *decode()]:
        assert goal(cell) is not None, cell
    assert goal(Cell(1, 16, 512, 8)) == Goal("raw", 0.60, 0.45)
    assert goal(Cell(2, 2048, 768, 12, "ragged")) == Goal("raw", 0.58, 0.52)
    assert goal(Cell(8, 128, 512, 8, "ragged", "training")) == Goal("raw", 0.85)
    assert goal(Cell(1, 16, 512, 8, precision="bfloat16")) == Goal("raw", 0.42, 0.25)
    assert goal(Cell(1, 4096, 512, 8, "full", "training", "bfloat16")) == Goal("raw", 0.58, 0.3)
    assert goal(Cell(8, 4096, 1024, 16, mode="decode", n_kv_heads=4)) == Goal("raw", 0.7, 0.55)


def test_how_close_to_the_limit_an_implementation_comes():
    assert made(0.5).of_limit(OURS) == pytest.approx(0.5)
    assert made(0.5).of_limit("absent") is None


def test_an_implementation_that_did_not_take_part_is_an_error():
    with pytest.raises(ValueError, match="is called 'nobody'; there are: raw, raw again"):
        made().entry("nobody")


def test_cells_are_selected_by_their_fields():
    wanted = made(cell=Cell(1, 16, 512, 8))
    assert report(made(), wanted).select(n_tokens=16, mode="forward") == (wanted,)
    with pytest.raises(ValueError, match="a cell has no colour"):
        report().select(colour="red")


def test_memory_leaves_out_what_was_not_measured():
    assert report().memory("full") == {OURS: {512: 5.5}}
    assert report().memory("causal") == {}


@pytest.mark.parametrize(
    "sheet",
    [
        tables.table([made()]),
        tables.entries(made()),
        tables.memory(report()),
        tables.missing(report()),
    ],
    ids=["table", "entries", "memory", "missing"],
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


# --- cells -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", ["full", "causal", "ragged", "window"])
@pytest.mark.parametrize("n", [9, 700])
def test_pairs_are_those_of_the_dense_mask(mask, n):
    cell = Cell(3, n, 16, 2, mask)
    if cell.predicate is None:
        assert cell.pairs == 3 * n * n
        return
    dense = cell.predicate.dense(n, n)
    assert cell.pairs == dense.sum().item() * (1 if mask == "ragged" else 3)


def test_ragged_sequences_fill_62_percent():
    for batch, n in ((8, 128), (8, 512), (2, 2048)):
        cell = Cell(batch, n, 512, 8, "ragged")
        assert sum(cell.lengths) / (batch * n) == pytest.approx(0.62, abs=0.01)
        assert (cell.lengths[0], cell.lengths[-1]) == (n // 4, n)


@pytest.mark.parametrize(
    ("field", "value"), [("mask", "triangle"), ("mode", "backward"), ("precision", "float16")]
)
def test_a_cell_of_another_kind_is_refused(field, value):
    with pytest.raises(ValueError, match=f"'{value}' is not one of"):
        replace(CELL, **{field: value})


def test_a_cell_of_no_tokens_is_refused():
    with pytest.raises(ValueError, match="n_tokens=0 is not a size"):
        Cell(1, 0, 512, 8)


def test_the_grid_holds_every_row_of_the_goals_once():
    cells = [*grid(), *decode()]
    assert len(set(cells)) == len(cells) == 77
    assert len([c for c in cells if c.mode == "decode"]) == 24
    assert {c.mask for c in cells} == {"full", "causal", "ragged", "window"}
    assert set(grid(quick=True)) <= set(cells)
    assert set(decode(quick=True)) <= set(cells)


# --- the stored run --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cpu", "cpu-default"])
def test_nobody_in_a_stored_run_is_called_wrong(name):
    entries = [entry for race in kept(name).races for entry in race.entries]
    assert [e for e in entries if e.reason.startswith("wrong")] == []


def test_what_the_book_says_about_lost_cells_holds_for_the_stored_run():
    report = kept("cpu")
    lost = [race for race in report.races if race.lost]
    assert all(race.profile for race in lost)
    few = [
        race for race in lost if race.cell.n_tokens == 16 and race.cell.precision != "float32"
    ]
    assert min(race.share("calls") for race in few) > 1 / 3
    long = [race for race in lost if race.cell.n_tokens >= 2048 and race.cell.mode == "forward"]
    assert {race.cell.precision for race in long} == {"bfloat16"}
    shares = [race.share("softmax") for race in long]
    assert (min(shares), max(shares)) == pytest.approx((1 / 6, 1 / 3), abs=0.03)
    assert min(race.of_limit(OURS) for race in long) == pytest.approx(2 / 3, abs=0.03)
    (ragged,) = [race for race in lost if race.cell.mask == "ragged"]
    third = ragged.share("copies and sums") + ragged.share("calls")
    assert third == pytest.approx(1 / 3, abs=0.03)
    (reading,) = [race for race in lost if race.cell.batch == 8 and race.cell.mode == "decode"]
    assert reading.share("products") == pytest.approx(0.9, abs=0.03)
