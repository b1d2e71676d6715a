"""Chapter 12b: what goes with a head, how often a gate is closed, and heads cut out."""

import torch

from mhsa_book.exercises import check
from mhsa_book.exercises.pruning import kept, maps
from mhsa_lib.variants.gated import HardConcrete


def test_a_head_goes_from_four_maps():
    assert check("parameters_of_a_head", 131_072)
    assert "W_O reads" in check("parameters_of_a_head", 98_304).text
    assert "all eight" in check("parameters_of_a_head", 1_048_576).text


def test_the_share_of_closed_gates_is_that_of_draws():
    gate = HardConcrete(1_000_000, log_alpha=-2.0)
    drawn = gate.drawn()
    closed, opened = ((drawn == end).double().mean().item() for end in (0, 1))
    right = gate.probabilities().closed[0].item()
    assert abs(closed - right) < 0.01
    assert 0.7 < closed < 0.8
    assert 1 / 18 < opened < 1 / 16
    assert check("share_closed", right)
    assert "not 0" in check("share_closed", 1 - right).text


def by_split(W_Q, W_O, keep, d_head):
    rows = torch.cat([W_Q.split(d_head)[head] for head in keep])
    return rows, torch.cat([W_O.split(d_head, dim=1)[head] for head in keep], dim=1)


def rows_of_both(W_Q, W_O, keep, d_head):
    rows, _ = by_split(W_Q, W_O, keep, d_head)
    return rows, W_O[: len(rows)]


def one_row_a_head(W_Q, W_O, keep, d_head):
    return W_Q[keep], W_O[:, keep]


def woven(W_Q, W_O, keep, d_head):
    """As if the columns of the heads took turns."""
    n_heads = len(W_Q) // d_head
    columns = [i * n_heads + head for head in keep for i in range(d_head)]
    return W_Q[columns], W_O[:, columns]


def the_others(W_Q, W_O, keep, d_head):
    gone = [head for head in range(len(W_Q) // d_head) if head not in keep]
    return by_split(W_Q, W_O, gone, d_head)


def test_a_head_has_rows_of_one_map_and_columns_of_the_other():
    assert check("heads_kept", kept)
    assert check("heads_kept", by_split)
    for wrong in (rows_of_both, one_row_a_head, woven, the_others):
        assert "smallest input" in check("heads_kept", wrong).text, wrong.__name__
    assert all(len(each["keep"]) < len(each["W_Q"]) // each["d_head"] for each in maps())
