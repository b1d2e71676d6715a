"""The right answers, what is compared with them, and weights laid into others."""

import pytest
import torch

from mhsa_book import naive
from mhsa_book.bench import rivals
from mhsa_book.bench.problem import Problem, Rows
from tests.mhsa_book.bench.small_cells import CELLS


def test_the_right_answers_are_those_of_the_loops():
    for cell in CELLS[:4]:
        given = Problem(cell)
        dense = None if cell.predicate is None else cell.predicate.dense(*[cell.n_tokens] * 2)
        if cell.mask == "window":
            continue  # loops over 600 tokens take too long; the next test holds it
        y = naive.loops(given.attention.double(), given.x.double(), None, dense)
        assert given.error(y.detach()) < 1e-10


def test_the_right_answers_of_a_window_see_no_more_than_the_window():
    given = Problem(CELLS[3])
    y = given.answers["y"]
    x = given.x.double()
    x[:, :80] = 0.0
    with torch.no_grad():
        other = given.attention.double()(x, mask=given.cell.predicate)
    torch.testing.assert_close(y[:, 80 + 511 :], other[:, 80 + 511 :])
    assert (y[:, 80 + 510] - other[:, 80 + 510]).abs().max() > 1e-6


def test_padding_is_not_compared_and_gets_no_gradient():
    given = Problem(CELLS[2])
    y = given.answers["y"].clone()
    y[~given.real] = 7.0
    assert given.error(y) == 0.0
    assert given.g[~given.real].abs().max() == 0
    y[given.real] += 0.5
    assert given.error(y) == pytest.approx(0.5)


@pytest.mark.parametrize("weight", ["W_Q", "W_K", "W_V", "W_O"])
def test_a_gradient_that_is_off_in_one_map_is_found(weight):
    given = Problem(CELLS[4])
    loaded = rivals.raw(given)
    x = given.x.clone().requires_grad_()
    loaded.call(x).backward(given.g)
    assert given.gradient_error(x.grad, loaded.maps) < 1e-5
    loaded.maps[weight][0].gradient.mul_(1.001)
    assert given.gradient_error(x.grad, loaded.maps) == pytest.approx(1e-3, rel=0.01)


def test_rows_write_through_slices_and_transposes():
    matrix, bias = torch.nn.Parameter(torch.zeros(3, 4)), torch.nn.Parameter(torch.zeros(4))
    rows = Rows(matrix, bias, 1, 3, transposed=True)
    rows.copy(torch.ones(2, 3), None)
    assert matrix.tolist() == [[0, 1, 1, 0]] * 3
    assert bias.tolist() == [0, 0, 0, 0]
    assert rows.count == 2
