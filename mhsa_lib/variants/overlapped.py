"""Overlapping heads: every head also reads the nearest dimensions of its two neighbours.

Changes: split gives each head, besides its own dimensions of q, k and v, the last ``overlap``
    dimensions of the head before it and the first ``overlap`` of the head after it; zeros where
    there is no such head. Attend and concat do what they always do, on wider heads.
Saves/Costs: scores of rank up to d_head + 2 · overlap from the same W_Q, W_K and W_V. W_O grows
    by 2 · overlap · n_heads rows, and scores and mix by (d_head + 2 · overlap) / d_head. The
    cache stays: a neighbour's dimensions are in it already.
Is MHA when: overlap = 0. With any overlap it is MHA with wider heads that share dimensions of
    W_Q, W_K and W_V: ``mhsa_book.conversions.to_plain``.
Source: Zhang, Luo, Wang, arXiv 2410.14874. As in the released code the scale is 1/√d_head,
    without the overlap. Unlike there, a single head as wide as the model keeps its W_O.
"""

from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import checks
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.shapes import (
    Heads,
    WideHeadOutputs,
    WideHeadRows,
    WideHeads,
    WideKeys,
    WideQueries,
    WideValues,
)
from mhsa_lib.stages import Attend, Concat, Split, Stage


def overlap_heads(heads: Heads, overlap: int) -> WideHeads:
    """Return every head with the nearest dimensions of its neighbours on both sides.

    >>> heads = torch.tensor([1.0, 2, 3, 4, 5, 6]).view(3, 1, 2)
    >>> overlap_heads(heads, 1).tolist()
    [[[0.0, 1.0, 2.0, 3.0]], [[2.0, 3.0, 4.0, 5.0]], [[4.0, 5.0, 6.0, 0.0]]]
    """
    d_head = heads.shape[-1]
    check_overlap(overlap, d_head)
    # Not ``-overlap:``, because for an overlap of 0 that is the whole head.
    last, first = heads[..., d_head - overlap :], heads[..., :overlap]
    # The first head has no head before it, and the last none after it.
    nobody = torch.zeros_like(first[..., :1, :, :])
    before = torch.cat([nobody, last[..., :-1, :, :]], dim=-3)
    after = torch.cat([first[..., 1:, :, :], nobody], dim=-3)
    return torch.cat([before, heads, after], dim=-1)


class OverlappedSplit(Stage):
    """Split q, k and v into heads, then let neighbours overlap on each side.

    >>> OverlappedSplit(3, 1)(*[torch.zeros(5, 12)] * 3)[0].shape
    torch.Size([3, 5, 6])
    """

    wires = {"q_wide": WideQueries, "k_wide": WideKeys, "v_wide": WideValues}

    def __init__(self, n_heads: int, overlap: int) -> None:
        super().__init__()
        # A stage inside, because decoding caches its wires: wide heads would repeat them.
        self.split, self.overlap = Split(n_heads), overlap

    def extra_repr(self) -> str:
        return f"overlap={self.overlap}"

    def forward(
        self, q: Tensor, k: Tensor, v: Tensor
    ) -> tuple[WideQueries, WideKeys, WideValues]:
        q, k, v = (overlap_heads(heads, self.overlap) for heads in self.split(q, k, v))
        return q, k, v


class OverlappedAttention(MultiHeadAttention):
    """Multi-head attention whose heads also read the nearest dimensions of their neighbours.

    >>> mha = OverlappedAttention(d_model=12, n_heads=3, overlap=1)
    >>> mha(torch.randn(2, 5, 12)).shape, mha.W_O.weight.shape
    (torch.Size([2, 5, 12]), torch.Size([12, 18]))

    Parameters
    ----------
    overlap : dimensions that a head reads from each neighbour, 0 to d_head, else ``ValueError``
    d_model, n_heads, d_head, bias, dropout, stages : as in ``MultiHeadAttention``; d_head is
        without the overlap
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        overlap: int,
        *,
        d_head: int | None = None,
        bias: bool = False,
        dropout: float = 0.0,
        **stages: Any,
    ) -> None:
        d_head = checks.head_width(d_model, n_heads, d_head)
        check_overlap(overlap, d_head)
        own = {
            "split": OverlappedSplit(n_heads, overlap),
            # The plain stages do it all; only the labels say that heads are wider. The scale is
            # that of the authors' code, which does not count the overlap.
            "attend": Attend(scale=d_head**-0.5, dropout=dropout).label(z=WideHeadOutputs),
            "concat": Concat().label(concat=WideHeadRows),
            "W_O": nn.Linear(n_heads * (d_head + 2 * overlap), d_model, bias=bias),
        }
        super().__init__(d_model, n_heads, d_head=d_head, bias=bias, **(own | stages))
        self.overlap = overlap


def check_overlap(overlap: int, d_head: int) -> None:
    """Raise an error unless the overlap is a whole number from 0 to the width of a head."""
    if isinstance(overlap, bool) or not isinstance(overlap, int):
        raise TypeError(f"overlap={overlap!r} is not a whole number; pass an int.")
    if not 0 <= overlap <= d_head:
        raise ValueError(
            f"overlap={overlap} does not fit d_head={d_head}: a head reads from its two "
            f"neighbours only; use 0, which shares nothing, to {d_head}."
        )
