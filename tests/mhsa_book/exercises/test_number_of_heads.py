"""Chapter 14: heads that 64 columns make, codes on a line, and what tells codes apart."""

import torch

from mhsa_book.exercises import check
from mhsa_book.exercises.number_of_heads import matrices, tells_apart


def test_columns_are_shared_among_heads():
    assert check("look_ups_at_once", 4)
    assert "width of a head" in check("look_ups_at_once", 16).text
    assert not check("look_ups_at_once", 8)


def test_on_a_line_only_the_outer_codes_find_themselves():
    assert check("find_themselves", [1, 2])
    assert not check("find_themselves", [0, 3])


def by_columns(A):
    rest = A.abs().sum(dim=0) - A.diagonal().abs()
    return bool((A.diagonal() > rest).all())


def by_rows(A):
    return by_columns(A.mT)


def by_rank(A):
    return bool(torch.linalg.matrix_rank(A) == len(A))


def by_the_diagonal(A):
    return bool((A.diagonal() > 0).all())


def by_absolute_values(A):
    return bool((2 * A.diagonal().abs() > A.abs().sum(dim=0)).all())


def test_the_diagonal_outweighs_its_column():
    assert check("tells_apart", tells_apart)
    assert check("tells_apart", by_columns)
    for wrong in (by_rows, by_rank, by_the_diagonal, by_absolute_values):
        assert "smallest input" in check("tells_apart", wrong).text, wrong.__name__
    said = [tells_apart(**each) for each in matrices()]
    assert 0.3 < sum(said) / len(said) < 0.7
