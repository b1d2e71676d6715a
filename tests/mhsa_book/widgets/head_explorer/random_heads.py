"""Random weights, tokens to name them, and an explorer of twelve heads."""

import torch

from mhsa_book.widgets import HeadExplorer
from mhsa_book.widgets.packed import packed, unpacked

WORDS = ["[CLS]", "the", "cat", "saw", "it", "[SEP]"]
WILD = [
    '<img src=x onerror="alert(1)">',
    "</script><script>alert(2)</script>",
    "\"'`&amp;${1}",
    "שלום",
    "e\u0301\u0323",
    "👩‍👩‍👧‍👦",
    "",
    "w" * 1000,
    "\n\t\x00\x1b",
    "=1+1",
    "\u202eabc",
    "\ud800",
    " ",
]


def weights(*shape: int, seed: int = 0, causal: bool = False) -> torch.Tensor:
    scores = 2 * torch.randn(shape, generator=torch.Generator().manual_seed(seed)).double()
    if causal:
        n_query, n_key = shape[-2:]
        future = torch.ones(n_query, n_key).triu(n_key - n_query + 1).bool()
        scores = scores.masked_fill(future, -torch.inf)
    return scores.softmax(dim=-1)


def kept(w: torch.Tensor) -> torch.Tensor:
    """What is left of weights after 16 bits."""
    names = ["t"] * w.shape[-2], ["t"] * w.shape[-1]
    return unpacked(packed(w, *names)).reshape(w.shape)


def explorer(seed: int = 0, **chosen) -> HeadExplorer:
    return HeadExplorer(weights(3, 4, 6, 6, seed=seed), WORDS, **chosen)
