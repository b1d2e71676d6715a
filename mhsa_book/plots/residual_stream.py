"""The residual stream of a language model: one row as a sum, and which heads add to it."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import torch
from matplotlib.lines import Line2D
from torch import Tensor

from mhsa_book.models import LanguageModel
from mhsa_book.models.attribution import Contributions
from mhsa_book.plots import style
from mhsa_book.plots.charts import plain

HEIGHT = 5.2
MOST_TOKENS = 20
STEP = 0.55
"""From the dot of one head to that of the next, where rows are 1 apart."""

FOR, AGAINST = (style.SERIES[0], "-"), (style.SERIES[5], "--")
"""Colour and dashes of a head that raises the lead of the first token, or lowers it."""


def residual_stream(
    lm: LanguageModel, text: str, pair: Sequence[str], heads: Sequence[tuple[int, int]]
) -> None:
    """Draw how the last row of a text comes to prefer one next token to another.

    Left, every token is a vertical line, its row, which goes up through all layers. Each of
    ``heads`` (layer, head) is a dot beside the last row, with a line from the row that it
    attends to most there, unless that is the last row itself. The line is solid if what the
    head writes adds more to the logit of the first of ``pair`` than to that of the second, else
    dashed, and the wider the larger the difference (``LanguageModel.contributions``). Right,
    both logits as sums that grow with each attention and each MLP. Raises ``ValueError`` for a
    text of more than 20 tokens, or for a pair that is not two tokens.

    >>> from mhsa_book import models
    >>> lm = models.load("SmolLM2-135M")
    >>> residual_stream(lm, "Mary and John, John and", (" Mary", " John"), [(23, 3)])
    """
    if len(pair) != 2:
        raise ValueError(f"pair has {len(pair)} tokens; give two to compare.")
    tokens, weights = lm.attend(text)
    if len(tokens) > MOST_TOKENS:
        raise ValueError(
            f"text has {len(tokens)} tokens, and at most {MOST_TOKENS} fit side by side; "
            f"shorten it."
        )
    shares = [lm.contributions(text, token) for token in pair]
    fig = style.figure(style.WIDTH, HEIGHT)
    rows, sums = fig.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    _draw_rows(rows, tokens, lm.n_layers)
    apart = shares[0].heads - shares[1].heads
    for layer, group in groupby(sorted(heads), key=lambda head: head[0]):
        drawn = [head for _, head in group]
        beside = len(tokens) - 0.5
        for i, head in enumerate(drawn):
            source = int(weights[layer, head, -1].argmax())
            end = (len(tokens) - 1, beside + STEP * i)
            _draw_head(rows, source, end, layer, float(apart[layer, head]))
        name = ", ".join(f"L{layer}H{head}" for head in drawn)
        right = beside + STEP * len(drawn)
        rows.text(right, layer + 0.5, name, fontsize=9, va="center")
    _name_looks(rows, pair)
    for token, share, (colour, dashes) in zip(pair, shares, (FOR, AGAINST), strict=True):
        _draw_sum(sums, style.label(token.strip() or token), growing(share), colour, dashes)


def growing(share: Contributions) -> Tensor:
    """A logit as a sum that grows: of the embedding, then after each attention and MLP.

    >>> growing(Contributions(4.0, 1.0, torch.tensor([[1.0, 1.0]]), torch.tensor([1.0])))
    tensor([1., 3., 4.])
    """
    added = torch.stack([share.heads.sum(dim=1), share.mlps], dim=1).flatten()
    return torch.cat([torch.tensor([share.embedding]).to(added), added]).cumsum(dim=0)


def _draw_rows(ax: Any, tokens: Sequence[str], n_layers: int) -> None:
    last = len(tokens) - 1
    for i in range(len(tokens)):
        colour, width = (style.INK, 2.2) if i == last else (style.FAINT, 0.8)
        ax.plot([i, i], [0, n_layers], color=colour, lw=width)
    names = [style.label(token.strip() or token) for token in tokens]
    ax.set_xticks(range(len(tokens)), names, rotation=90, parse_math=False)
    ax.set_xlim(-0.6, last + 0.45 * len(tokens))
    plain(ax, "row of each token", "layer")


def _draw_head(ax: Any, source: int, end: Any, layer: int, apart: float) -> None:
    """A line to the last row and a dot beside it; ``end`` is where both are."""
    colour, dashes = FOR if apart > 0 else AGAINST
    width = 1 + abs(apart)
    (last, beside), level = end, layer + 0.5
    if source != last:
        ax.plot([source, last], [layer, level], color=colour, ls=dashes, lw=width, zorder=3)
    full = colour if apart > 0 else style.PAPER
    ax.plot([beside], [level], "o", color=colour, mfc=full, mew=1.5, ms=5, zorder=4)


def _name_looks(ax: Any, pair: Sequence[str]) -> None:
    """Say what the two looks mean, in the free corner beside the last row.

    A head that lowers the lead of the first token need not write for the second: it may write
    against both. So the legend speaks of the lead alone.
    """
    marks: list[Line2D] = []
    for called, (colour, dashes) in zip(("raised", "lowered"), (FOR, AGAINST), strict=True):
        full = colour if not marks else style.PAPER
        look: dict[str, Any] = {"color": colour, "ls": dashes, "lw": 2, "mfc": full, "ms": 5}
        marks.append(Line2D([], [], marker="o", label=called, **look))
    title = f"lead of {style.label(pair[0].strip() or pair[0])}"
    legend = ax.legend(
        handles=marks,
        loc="lower right",
        fontsize=9,
        frameon=False,
        title=title,
        title_fontsize=9,
    )
    legend.get_title().set_parse_math(False)


def _draw_sum(ax: Any, name: str, total: Tensor, colour: str, dashes: str) -> None:
    levels = (torch.arange(len(total)) / 2).tolist()
    ax.plot(total.tolist(), levels, color=colour, ls=dashes, lw=2)
    ax.annotate(
        f"{name} {float(total[-1]):.1f}",
        (float(total[-1]), levels[-1]),
        xytext=(0, 4),
        textcoords="offset points",
        ha="center",
        fontsize=style.TEXT,
        parse_math=False,
    )
    plain(ax, "logit so far", "")
