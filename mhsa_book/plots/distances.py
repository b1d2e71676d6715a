"""How far back a layer copies from, and how often that is right."""

from collections.abc import Mapping, Sequence

from mhsa_book.plots import style
from mhsa_book.plots.charts import DASHES, MARKERS, plain


def distances(
    raised: Sequence[float],
    counts: Sequence[int],
    right: Mapping[str, Mapping[int, float]],
) -> None:
    """Draw two panels: bars for distances from 1, and the share of right answers by length.

    Parameters
    ----------
    raised : for every distance by how many logits the token there is raised
    counts : for every distance how many lengths of a block divide it, written on its bar
    right : by name, for every length of a block the share of right answers

    Raises
    ------
    ValueError : if there is nothing to draw, or as many counts as bars are not there

    Examples
    --------
    >>> distances([0.1, 0.9], [0, 1], {"its own weights": {2: 0.9, 3: 0.6}})
    """
    if not raised or len(raised) != len(counts) or not right:
        raise ValueError(
            f"{len(raised)} bars, {len(counts)} counts and {len(right)} curves; give one count "
            f"for every bar, and at least one of each."
        )
    fig = style.figure(style.WIDTH, 3.1)
    left, beside = fig.subplots(1, 2, width_ratios=(6, 5))
    places = range(1, len(raised) + 1)
    bars = left.bar(places, raised, color=[_colour(n) for n in counts], edgecolor=style.INK)
    left.bar_label(bars, [str(n) if n else "" for n in counts], fontsize=style.TEXT)
    left.set_xticks(range(2, len(raised) + 1, 2))
    left.margins(y=0.12)
    plain(left, "tokens back from the one to say", "raised by, in logits")
    for i, (name, shares) in enumerate(right.items()):
        look = {"marker": MARKERS[i % 8], "linestyle": DASHES[i % 4], "markersize": 5}
        beside.plot(
            [*shares], [*shares.values()], color=style.SERIES[i % 8], label=name, **look
        )
    beside.set_ylim(0, 1.02)
    beside.set_xticks([*next(iter(right.values()))])
    plain(beside, "length of the block", "share of right answers")
    beside.legend(  # above the panel, because curves may be anywhere in it
        loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize=style.TEXT, frameon=False
    )


def _colour(count: int) -> str:
    """The more lengths divide a distance, the darker; white where none does."""
    shades = (style.PAPER, "#abe4fb", "#3cace2", "#2470a9", "#233a64")
    return shades[min(count, len(shades) - 1)]
