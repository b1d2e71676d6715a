"""Words whose columns say what they are, and in which seat of the sentence they stand.

Simpler than the clock of ``words``: a seat is one column that is 1. It serves for heads that a
reader builds by hand.
"""

import torch
from torch import Tensor

from mhsa_book.examples.words import COLUMNS, KINDS, meanings

SEATS = 8
_WHAT = tuple(kind for kind in KINDS if kind != "start")

SEATED_COLUMNS = (*_WHAT, *(f"seat {i}" for i in range(SEATS)))
"""What each column says: seven about the word, eight about where it stands."""


def seated(sentence: str) -> Tensor:
    """The vectors of a sentence of up to eight words, (word, 15).

    Raises ``ValueError`` for an unknown word, and for more than eight.

    >>> x = seated("the animal avoided the street")
    >>> [SEATED_COLUMNS[i] for i in x[4].nonzero()]
    ['noun', 'place', 'seat 4']
    """
    words = sentence.split()
    if len(words) > SEATS:
        raise ValueError(f"{len(words)} words for {SEATS} seats; use at most {SEATS} words.")
    what = meanings(words)[:, [COLUMNS.index(kind) for kind in _WHAT]]
    return torch.cat([what, torch.eye(SEATS, dtype=what.dtype)[: len(words)]], dim=1)
