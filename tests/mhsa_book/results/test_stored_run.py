"""The stored run: nobody in it is wrong, and it bears out what the book says."""

import pytest

from mhsa_book.results.benchmarks import kept
from mhsa_book.results.records import OURS


@pytest.mark.parametrize("name", ["cpu", "cpu-default", "h200-decode"])
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
