"""A map of models: a cell for every layer, which shows what the layer keeps and reads."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.patches import Circle, Rectangle

from mhsa_book.costs.models_2026 import KINDS, Model
from mhsa_book.plots import style

ROW = 24
"""Cells in a row: whole periods of every second, third, fourth and sixth layer fit in it."""

WIDTH = 5.2
"""Inches, narrower than other pictures, so that a phone need not shrink the text much."""

SHORT = {
    "global": "keeps all, reads all",
    "chosen": "keeps all, reads a few",
    "merged": "many tokens are one entry",
    "merged+chosen": "… and reads a few entries",
    "borrowed": "reads what another layer keeps",
    "window": "keeps and reads the last few",
    "state": "keeps a matrix of fixed size",
}

# The filled height says the kind (it is not to scale), so the picture needs no colours.
COLOUR = {
    "global": "#0b3c6f",
    "chosen": "#56b4e9",
    "merged": "#e69f00",
    "merged+chosen": "#e69f00",
    "borrowed": "#ffffff",
    "window": "#009e73",
    "state": "#cc79a7",
}
HEIGHT = {"global": 0.84, "chosen": 0.84, "merged": 0.42, "merged+chosen": 0.42}
HEAD = 1.75
"""Height of the line above a model, in cells."""


def layer_map(models: Sequence[Model], lengths: Mapping[str, int]) -> None:
    """Draw the layers of each model from first to last, and what a sequence keeps in it.

    A row has ``ROW`` cells. ``lengths`` names the numbers of tokens whose GiB stand beside the
    name of the model; they are in parentheses where the model is not made for such a length.
    Raises ``ValueError`` if there is no model.

    >>> from mhsa_book.costs.models_2026 import MODELS
    >>> layer_map(MODELS[:2], {"128k": 131_072})
    """
    if not models:
        raise ValueError("models is empty; give the models of the map.")
    rows = sum(-(-len(model.layers) // ROW) for model in models)
    shown = [kind for kind in KINDS if any(kind in model.counts() for model in models)]
    height = len(shown) * 1.3 + 1 + rows + len(models) * HEAD
    fig = style.figure(WIDTH, height * (WIDTH - 0.2) / ROW)
    ax = fig.add_subplot()
    ax.set(xlim=(0, ROW), ylim=(height, 0), aspect="equal")
    ax.set_axis_off()
    for i, kind in enumerate(shown):
        _cell(ax, kind, 0, 1.3 * i)
        _text(ax, 1.4, 1.3 * i + 0.5, kind, weight="bold")
        _text(ax, 8.6, 1.3 * i + 0.5, SHORT[kind])
    top = 1.3 * len(shown) + 1
    for model in models:
        _text(ax, 0, top + 1, model.name, weight="bold")
        _text(ax, ROW, top + 1, _gib(model, lengths), ha="right")
        top += HEAD
        for i, layer in enumerate(model.layers):
            _cell(ax, layer.kind, i % ROW, top + i // ROW)
        top += -(-len(model.layers) // ROW)


def _gib(model: Model, lengths: Mapping[str, int]) -> str:
    said = []
    for name, n in lengths.items():
        gib = model.kept_bytes(n) / 2**30
        number = f"{gib:.3g}" if gib < 100 else f"{gib:.0f}"
        said.append(f"{name} {number}" if n <= model.longest else f"{name} ({number})")
    return " · ".join(said) + " GiB"


def _cell(ax: Any, kind: str, x: float | int, y: float | int) -> None:
    """A frame and the filled height in it; a dot says chosen, a disc is a state."""
    dashes = (0, (1.5, 1)) if kind == "borrowed" else "solid"
    frame: dict[str, Any] = {"edgecolor": style.FAINT, "linewidth": 0.6, "linestyle": dashes}
    ax.add_patch(Rectangle((x + 0.08, y + 0.08), 0.84, 0.84, facecolor="none", **frame))
    if kind == "state":
        ax.add_patch(Circle((x + 0.5, y + 0.5), 0.3, facecolor=COLOUR[kind], linewidth=0))
        return
    if kind != "borrowed":
        high = HEIGHT.get(kind, 0.2)
        corner = (x + 0.08, y + 0.92 - high)
        ax.add_patch(Rectangle(corner, 0.84, high, facecolor=COLOUR[kind], linewidth=0))
    if "chosen" in kind or kind == "borrowed":
        middle = y + 0.92 - HEIGHT.get(kind, 0.84) / 2
        ax.add_patch(Circle((x + 0.5, middle), 0.13, facecolor=style.INK, linewidth=0))


def _text(ax: Any, x: float | int, y: float | int, said: str, **look: Any) -> None:
    look = {"fontsize": style.TEXT, "color": style.INK, "va": "center"} | look
    ax.text(x, y, style.label(said, longest=48), parse_math=False, **look)
