"""The share of a choice on the half that had no part in it."""

import torch

from mhsa_book.roles.reported import reported


def test_the_choice_of_one_half_is_reported_on_the_other():
    sentence = torch.arange(8)
    even = (sentence % 2 == 0).long()
    candidates = torch.stack([even, 1 - even, torch.tensor([1, 1, 1, 0, 0, 1, 0, 1])], dim=1)
    # even sentences choose the first, odd ones the second: each is always wrong elsewhere
    assert reported(candidates, sentence).mean == 0
    found = reported(candidates[:, 2:], sentence)
    assert found.mean == 5 / 8
    assert found.low < 5 / 8 < found.high
