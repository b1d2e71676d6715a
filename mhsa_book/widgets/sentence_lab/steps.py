"""The six steps as still pictures with their sentences: for paper, and where no script runs."""

from collections.abc import Callable
from functools import cache
from html import escape

from mhsa_book import examples, plots
from mhsa_book.examples.words import KINDS
from mhsa_book.plots.contribution import HATCHES
from mhsa_book.plots.style import FAINT, INK, SERIES, TEXT, WIDTH, figure
from mhsa_book.widgets.figure import png
from mhsa_book.widgets.sentence_lab.guided_steps import STEPS, says
from mhsa_book.widgets.sentence_lab.question_and_answer import MEANT, pictured, written
from mhsa_book.widgets.sentence_lab.still import arcs, words_of

LAST = len(examples.SENTENCES[0]) - 1
MADE = ("q", "k", "v")


def question() -> None:
    """The sentence, and the two nouns that the last word may belong to."""
    ax = figure(WIDTH, 1.5).add_subplot()
    middles = words_of(ax, examples.SENTENCES[0], LAST)
    ax.set_ylim(-0.7, 3)
    for i, word in enumerate(_nouns()):
        middle, half = (middles[LAST] + middles[word]) / 2, (middles[LAST] - middles[word]) / 2
        steps = [k / 40 for k in range(-40, 41)]
        height = 2.4 - 1.1 * i
        x, y = [middle + half * t for t in steps], [height * (1 - t * t) for t in steps]
        ax.plot(x, y, color=FAINT, ls=(0, (1, 3)), lw=2)
        ax.text(middle, height, "?", size=16, weight="bold", ha="center", va="center")


def made() -> None:
    """q, k and v of every word in every head, as squares."""
    wires, n_heads = examples.running(), len(examples.HEADS)
    fig = figure(WIDTH, 1.3 * n_heads)
    for h, ax in enumerate(fig.subplots(n_heads)):
        middles = words_of(ax, examples.SENTENCES[0], None)
        ax.set_ylim(-0.5, 4.6)
        ax.set_title(examples.HEADS[h], size=TEXT + 1, loc="left", pad=2)
        for r, wire in enumerate(MADE):
            rows = wires[f"{wire}_heads"][0, h]
            largest = wires[f"{wire}_heads"][:, h].abs().max()
            ax.text(-0.05, 3.4 - r, wire, size=TEXT, style="italic", ha="right", va="center")
            for middle, row in zip(middles, (rows / largest).tolist(), strict=True):
                for i, value in enumerate(row):
                    ax.plot(
                        middle + 0.13 * (i - (len(row) - 1) / 2),
                        3.4 - r,
                        marker="s",
                        ms=8,
                        mec=SERIES[h] if value else "#d5d9df",
                        mfc=(SERIES[h], max(value, 0)),
                    )


def attended() -> None:
    """The map of every head."""
    plots.heads(examples.running()["weights"][0], examples.SENTENCES[0], titles=examples.HEADS)


def flipped() -> None:
    """Both sentences, with the lines of all heads."""
    arcs([0, 1], LAST, [])


def added() -> None:
    """What the last word has learned, by the head that wrote it."""
    _sum([])


def forgotten() -> None:
    """The same without the head that finds who is meant."""
    _sum([MEANT])


PICTURES: tuple[Callable[[], None], ...] = (
    question,
    made,
    attended,
    flipped,
    added,
    forgotten,
)


def alts() -> list[str]:
    """What the pictures show, in words.

    >>> alts()[0]
    'Two dotted lines with a question mark lead from “tired”: to “animal” and to “street”.'
    """
    last, first = examples.SENTENCES[0][LAST], [examples.SENTENCES[0][i] for i in _nouns()]
    return [
        f"Two dotted lines with a question mark lead from “{last}”: to “{first[0]}” and to "
        f"“{first[1]}”.",
        "Under every word, three rows of four squares for each of three heads: q, k and v.",
        f"Three heat maps of weights, a row for each word that looks. Row “{last}”: "
        f"{pictured(0, LAST).partition(': ')[2]}",
        f"{pictured(0, LAST)} {pictured(1, LAST)}",
        f"Bars of what “{last}” has learned, by head: {_written([])}.",
        f"The same bars without “{examples.HEADS[MEANT]}”: {_written([MEANT])}.",
    ]


@cache  # the same for every figure, and drawing it takes a second
def walk_html() -> str:
    """The six sentences as a list, each with its picture."""
    items = [
        f"<li><p><strong>{escape(name)}.</strong> {escape(says(i, 0))}</p>"
        f'<img alt="{escape(alt)}" src="{png(draw)}" style="max-width:100%"></li>'
        for i, ((name, _), draw, alt) in enumerate(zip(STEPS, PICTURES, alts(), strict=True))
    ]
    return f"<ol>{''.join(items)}</ol>"


def _nouns() -> list[int]:
    is_noun = examples.sentences()[0, :, examples.COLUMNS.index("noun")]
    return is_noun.nonzero().flatten().tolist()


def _sum(off: list[int]) -> None:
    """Bars of what the heads write into the last word, those in ``off`` left out."""
    parts = written(0)[:, LAST, : len(KINDS)]
    rows = (parts.abs().sum(dim=0) > 0).nonzero().flatten().tolist()
    ax = figure(WIDTH, 0.3 * len(rows) + 0.5).add_subplot()
    start = [0.0] * len(rows)
    for h, name in enumerate(examples.HEADS):
        width = [0.0 if h in off else float(parts[h, c]) for c in rows]
        look = {"color": SERIES[h], "hatch": HATCHES[h], "edgecolor": INK, "linewidth": 0.6}
        ax.barh(range(len(rows)), width, left=start, label=name, height=0.7, **look)
        start = [a + b for a, b in zip(start, width, strict=True)]
    for i, total in enumerate(start):
        ax.text(total + 0.02, i, f"{total:.2f}", size=TEXT, va="center")
    ax.set_yticks(range(len(rows)), [KINDS[c] for c in rows], size=TEXT)
    ax.set(xlim=(0, 1.6), xticks=[], ylim=(len(rows) - 0.5, -0.5))
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.legend(loc="center right", fontsize=TEXT, frameon=False)


def _written(off: list[int]) -> str:
    """The columns that the heads write into the last word, with their numbers."""
    on = [h for h in range(len(examples.HEADS)) if h not in off]
    row = written(0)[on, LAST].sum(dim=0).tolist()
    named = zip(examples.COLUMNS, row, strict=True)
    return ", ".join(f"{name} {value:.2f}" for name, value in named if value > 0.05)
