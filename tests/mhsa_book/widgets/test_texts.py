"""Texts that no page can hold are refused before anything is drawn."""

import pytest
import torch
from torch import nn

from mhsa_book.widgets import HeadExplorer, MaskLab, OutputSum, Predict

HALF = "a\ud83d"
CALLS = {
    "MaskLab": lambda: MaskLab(torch.zeros(1, 2, 2), ["b", HALF]),
    "OutputSum": lambda: OutputSum(torch.zeros(2, 2, 3), nn.Linear(6, 4), ["b", HALF]),
    "a column": lambda: OutputSum(torch.zeros(1, 1, 2), nn.Linear(2, 1), columns=[HALF]),
    "Predict": lambda: Predict(HALF, 3),
    "an option": lambda: Predict("How many?", "b", options=["b", HALF]),
}


@pytest.mark.bothways
@pytest.mark.parametrize("name", CALLS)
def test_half_a_character_is_refused(name):
    with pytest.raises(ValueError, match=r"holds half of a character, U\+D83D at 1; pass the"):
        CALLS[name]()


@pytest.mark.bothways
def test_tokens_have_a_largest_size():
    with pytest.raises(ValueError, match=r"tokens have \d+ characters in all; .* at most 1000"):
        HeadExplorer(torch.eye(2), ["b", "a" * 10_000_000])
