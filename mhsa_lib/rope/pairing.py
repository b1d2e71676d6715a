"""Which two columns of a head turn together: neighbours, or the two halves.

The weights of one convention become those of the other by reordering the rows of W_Q and W_K:
``reordered``.
"""

from dataclasses import dataclass

import torch
from einops import rearrange
from torch import Tensor


@dataclass(frozen=True)
class Pairing:
    """Which two columns of a head turn together, as the einops pattern of its columns."""

    name: str
    columns: str

    def apart(self, rows: Tensor) -> Tensor:
        """The two coordinates of every pair on a first axis: (two, …, pair)."""
        return rearrange(rows, f"... {self.columns} -> two ... pair", two=2)

    def together(self, coordinates: Tensor) -> Tensor:
        """The inverse of ``apart``."""
        return rearrange(coordinates, f"two ... pair -> ... {self.columns}", two=2)

    def turn(self, rows: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Every pair of ``rows`` turned in its plane, by the angles of ``cos`` and ``sin``."""
        a, b = self.apart(rows)
        return self.together(torch.stack((a * cos - b * sin, a * sin + b * cos)))


INTERLEAVED = Pairing("interleaved", "(pair two)")
"""Columns 2i and 2i + 1: neighbours, as the paper writes it."""

HALVES = Pairing("halves", "(two pair)")
"""Columns i and i + d_head / 2."""


def reordered(heads: Tensor, old: Pairing, new: Pairing) -> Tensor:
    """The columns of every head so that pairs of ``old`` become pairs of ``new``.

    Applied to the rows of W_Q and W_K, seen as (head, d_head, d_model) and turned so that
    d_head is last, it makes weights for one pairing out of weights for the other.

    >>> reordered(torch.tensor([0, 1, 2, 3]), INTERLEAVED, HALVES).tolist()
    [0, 2, 1, 3]
    """
    return new.together(old.apart(heads))
