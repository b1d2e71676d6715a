"""Chapter 08: what the exercises on W_O let pass, and what they find."""

import torch

from mhsa_book import examples
from mhsa_book.exercises import check


def changed(change):
    twin = examples.attention()
    with torch.no_grad():
        change(twin.project.W_V.weight, twin.W_O.weight)
    return check("w_o_twin", twin)


def test_a_pair_of_opposite_changes_is_a_twin():
    def rescaled(W_V, W_O):
        W_V[:4] *= 2
        W_O[:, :4] /= 2

    assert changed(rescaled)


def test_a_column_that_w_o_ignores_may_hold_anything():
    def filled(W_V, W_O):
        W_V[3, 1] = 1

    assert changed(filled)


def test_half_a_change_and_no_change_are_told_apart():
    assert "y is another one" in changed(lambda W_V, W_O: W_V[:4].mul_(2)).text
    assert "z of head 0" in changed(lambda W_V, W_O: None).text


def test_a_change_in_another_head_is_none_in_head_0():
    def filled(W_V, W_O):
        W_V[11, 1] = 1

    assert "z of head 0" in changed(filled).text
