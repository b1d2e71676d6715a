"""A race is honest about ties, goals, limits, and who did not take part."""

from dataclasses import replace

import pytest

from mhsa_book.results.cells import Cell
from mhsa_book.results.records import OURS, Entry
from tests.mhsa_book.results.reports import made, report


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
