"""The share of what was chosen on one half of the sentences and is reported on the other."""

import torch
from torch import Tensor

from mhsa_book.results.bootstrap import Interval
from mhsa_book.roles.halves import judged


def reported(candidates: Tensor, sentence: Tensor) -> Interval:
    """Return the share of arcs that the chosen candidate gets right, with its interval.

    ``candidates`` (arc, …) hold 1 where one is right about an arc: all heads, or all guesses.
    The best is chosen on the sentences with an even number and reported on the others, and the
    other way round. The interval is that of other sentences, not of another choice.

    >>> reported(torch.tensor([[1, 0], [1, 0], [1, 1], [0, 1]]), torch.arange(4))
    0.75 (0.25 to 1.00)
    """
    nothing = {"nothing": torch.zeros(len(sentence))}
    return judged(candidates, nothing, sentence).difference
