"""An interval by drawing the sample again: what the mean would be with other sentences.

Words of one sentence go together, so whole sentences are drawn, with replacement, and each
draw gives a mean. The interval holds the middle 95 % of them.

Source: Efron, "Bootstrap Methods: Another Look at the Jackknife", Annals of Statistics 7, 1979.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mhsa_lib import checks


class Interval(NamedTuple):
    """A mean, with the ends of an interval that holds 95 % of the draws."""

    mean: float
    low: float
    high: float

    def __repr__(self) -> str:
        return f"{self.mean:.2f} ({self.low:.2f} to {self.high:.2f})"


def mean_of(values: Sequence[float]) -> Interval:
    """The mean of single numbers, each drawn again with the same chance.

    >>> mean_of([1.0, 3.0])
    2.00 (1.00 to 3.00)
    """
    return mean(torch.tensor(values), torch.ones(len(values)))


def mean(sums: Tensor, counts: Tensor, *, n_draws: int = 2000, seed: int = 0) -> Interval:
    """The mean over all words, from every sentence's sum and its number of words: (sentence).

    A sentence with many words weighs as much as they do. Draws without any word do not count.

    Raises
    ------
    ValueError : for shapes that differ or no words at all

    Examples
    --------
    >>> mean(torch.tensor([1.0, 3.0]), torch.tensor([1, 1]))
    2.00 (1.00 to 3.00)
    """
    checks.positive(n_draws=n_draws)
    if sums.ndim != 1 or sums.shape != counts.shape or not counts.any():
        raise ValueError(
            f"sums {tuple(sums.shape)} and counts {tuple(counts.shape)} with "
            f"{int(counts.sum())} words; give one number a sentence in each, and at least one "
            f"word."
        )
    sums, counts, n = sums.double(), counts.double(), len(sums)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(n, (n_draws, n), generator=generator)
    means = sums[drawn].sum(dim=1) / counts[drawn].sum(dim=1)
    low, high = means[~means.isnan()].quantile(torch.tensor([0.025, 0.975]).double()).tolist()
    return Interval((sums.sum() / counts.sum()).item(), low, high)
