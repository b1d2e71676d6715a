"""Cells: their masks and lengths, their goals, and the grid they make."""

from dataclasses import replace

import pytest

from mhsa_book.results.cells import Cell, Goal, decode, goal, grid
from tests.mhsa_book.results.reports import CELL


def test_every_cell_of_the_suites_has_the_goal_of_the_table():
    for cell in [*grid(), *decode()]:
        assert goal(cell) is not None, cell
    assert goal(Cell(1, 16, 512, 8)) == Goal("raw", 0.60, 0.45)
    assert goal(Cell(2, 2048, 768, 12, "ragged")) == Goal("raw", 0.58, 0.52)
    assert goal(Cell(8, 128, 512, 8, "ragged", "training")) == Goal("raw", 0.85)
    assert goal(Cell(1, 16, 512, 8, precision="bfloat16")) == Goal("raw", 0.42, 0.25)
    assert goal(Cell(1, 4096, 512, 8, "full", "training", "bfloat16")) == Goal("raw", 0.58, 0.3)
    assert goal(Cell(8, 4096, 1024, 16, mode="decode", n_kv_heads=4)) == Goal("raw", 0.7, 0.55)


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
