"""Heat maps of heads that read a text which is written twice."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from torch import Tensor

from mhsa_book.plots import style
from mhsa_book.plots.heat import heads

SMALL = 7.5
"""Points; 14 rows of a panel of 2.2 inches have room for no more."""


def repeated(weights: Tensor, tokens: Sequence[str], titles: Sequence[str]) -> None:
    """Draw heads side by side, every token named, with lines where the text begins again.

    ``weights`` is (head, query, key). Raises ``ValueError`` unless the second half of
    ``tokens`` repeats the first, and otherwise as ``heads`` does.

    Examples
    --------
    >>> import torch
    >>> repeated(torch.eye(4)[None], ["one", "two", "one", "two"], ["L0H0"])
    """
    half = len(tokens) // 2
    if list(tokens[:half]) != list(tokens[half:]):
        raise ValueError(f"tokens {[*tokens]} are not one text twice; repeat the first half.")
    heads(weights, tokens, titles=titles)
    for panel in plt.gcf().axes[: len(titles)]:
        panel.axhline(half - 0.5, color=style.INK, linewidth=0.8)
        panel.axvline(half - 0.5, color=style.INK, linewidth=0.8)
        # all names, in small print: with every other one a reader cannot see the repetition
        panel.set_xticks(range(len(tokens)), tokens, fontsize=SMALL, parse_math=False)
        panel.set_yticks(range(len(tokens)), tokens, fontsize=SMALL, parse_math=False)
