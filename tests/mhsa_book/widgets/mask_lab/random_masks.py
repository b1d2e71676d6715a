"""Random scores, and a random mask for each."""

import torch

from mhsa_book.widgets.mask_lab import LONGEST


def random_cases(n=40):
    for seed in range(n):
        torch.manual_seed(seed)
        size = int(torch.randint(1, LONGEST + 1, ()))
        scores = torch.randn(size, size, dtype=torch.float64) * 4
        yield scores, torch.rand(size, size) < 0.5
