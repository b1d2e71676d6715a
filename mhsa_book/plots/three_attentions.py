"""A translation as lines: what the three attentions of an encoder-decoder bring to a word."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from mhsa_book.plots import style

COLUMNS = (0.75, 2.55, 4.9, 6.75)
"""Inches to the middle of each column: source, memory, what is said, what was read."""

ROW, TOP, ROOM = 0.31, 0.95, 0.42
"""Inches: from one word to the next, above the first word, and from its middle to a line."""

THICKEST, THINNEST = 4.5, 0.6
FAINTEST = 0.05
"""Points of a line of weight 1 and of the thinnest; smaller weights than the last have none."""

BANDS = {
    "encoder self-attention": (1, 0, style.SERIES[0]),
    "cross-attention": (2, 1, style.SERIES[5]),
    "decoder self-attention": (2, 3, style.SERIES[0]),
}
"""Columns of the words that ask and of those that are asked, and the colour of a kind."""

KINDS = tuple(BANDS)

START = "▷"


def three_attentions(
    weights: Mapping[str, Tensor],
    source: Sequence[str],
    target: Sequence[str],
    follow: Mapping[str, Sequence[int]],
    heads: Mapping[str, str] | None = None,
) -> None:
    """Draw one head of each kind at work: lines from the words that ask to those they look at.

    ``weights`` has a table (query, key) for "encoder self-attention", "cross-attention" and
    "decoder self-attention". ``target`` are the words that are said, the end too; each is said
    by the row that has read the word before it. ``follow`` names for each kind the rows whose
    lines are coloured, the others stay grey. ``heads`` are names to write above. A line is the
    wider the larger the weight; below 0.05 there is none. Raises ``ValueError`` for another
    kind, for tables that do not fit the words, or for a row that is not there.

    >>> import torch
    >>> first, rows = torch.ones(2, 2) / 2, torch.tensor([[1.0, 0], [0.3, 0.7]])
    >>> kinds = ["encoder self-attention", "cross-attention", "decoder self-attention"]
    >>> tables = dict(zip(kinds, (first, first, rows)))
    >>> three_attentions(tables, ["ip", "balo"], ["hai", "mirru"], {"cross-attention": [1]})
    """
    _check(weights, len(source), len(target), follow)
    height = TOP + ROW * max(len(source), len(target)) + 0.1
    fig = style.figure(style.WIDTH, height)
    fig.set_layout_engine("none")
    ax = fig.add_axes((0, 0, 1, 1), xlim=(0, style.WIDTH), ylim=(height, 0))
    ax.axis("off")
    for kind, (asks, asked, colour) in BANDS.items():
        rows = [*follow.get(kind, ())]
        for row, line in enumerate(weights[kind].detach().cpu().tolist()):
            for key, weight in enumerate(line):
                if weight >= FAINTEST:
                    _line(ax, (asks, row), (asked, key), weight, colour if row in rows else "")
        name = "" if heads is None else f"\n{heads[kind]}"
        middle = (COLUMNS[asks] + COLUMNS[asked]) / 2
        _text(ax, middle, 0.26, kind + name, color=colour, weight="bold")
    read = [START, *target[:-1]]
    said = {row for kind in BANDS if BANDS[kind][0] == 2 for row in follow.get(kind, ())}
    bold: tuple[Any, ...] = ((), follow.get("encoder self-attention", ()), said, ())
    names = ("source", "memory", "says", "has read")
    for i, words in enumerate((source, source, target, read)):
        _text(ax, COLUMNS[i], TOP - ROW, names[i], color=style.INK, style="italic")
        for row, word in enumerate(words):
            weight = "bold" if row in bold[i] else "normal"
            _text(ax, COLUMNS[i], _level(row), style.label(word), weight=weight)


def _check(
    weights: Mapping[str, Tensor], n_source: int, n_target: int, follow: Mapping[str, Any]
) -> None:
    wanted = {
        "encoder self-attention": (n_source, n_source),
        "cross-attention": (n_target, n_source),
        "decoder self-attention": (n_target, n_target),
    }
    if {*weights} != {*wanted} or not {*follow} <= {*wanted}:
        raise ValueError(
            f"weights are of {[*weights]} and follow is of {[*follow]}; the kinds are "
            f"{[*wanted]}, and weights need all three."
        )
    for kind, shape in wanted.items():
        if tuple(weights[kind].shape) != shape:
            raise ValueError(
                f"weights of {kind!r} are {tuple(weights[kind].shape)}; for {n_source} source "
                f"and {n_target} target words they have to be (query, key) = {shape}."
            )
        if wrong := [row for row in follow.get(kind, ()) if not 0 <= row < shape[0]]:
            raise ValueError(f"{kind!r} has no row {wrong[0]}; it has {shape[0]} rows.")


def _level(row: int) -> float:
    return TOP + ROW * row + 0.02


def _line(
    ax: Any, asks: tuple[int, int], asked: tuple[int, int], weight: float, colour: str
) -> None:
    towards = ROOM if asked[0] > asks[0] else -ROOM
    ends = [COLUMNS[asks[0]] + towards, COLUMNS[asked[0]] - towards]
    levels = [_level(asks[1]), _level(asked[1])]
    look: dict[str, Any] = {"color": colour or style.FAINT, "zorder": 3 if colour else 2}
    look["linewidth"] = max(THINNEST, THICKEST * weight) * (1 if colour else 0.5)
    ax.plot(ends, levels, alpha=1 if colour else 0.45, solid_capstyle="round", **look)


def _text(ax: Any, x: float, y: float, said: str, **look: Any) -> None:
    look = {"color": style.INK, "ha": "center", "va": "center", "parse_math": False} | look
    ax.text(x, y, said, fontsize=style.TEXT, zorder=4, **look)
