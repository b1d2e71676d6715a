"""The lines of a translation lead from the words that ask to those that are looked at."""

import pytest
import torch

from mhsa_book.plots.three_attentions import BANDS, COLUMNS, ROOM, three_attentions
from tests.mhsa_book.plots.figure import drawn, said

SOURCE, TARGET = ["rolan", "ot", "balo"], ["hai", "mirru", "mirru", "mela"]
KINDS = ["encoder self-attention", "cross-attention", "decoder self-attention"]


def tables(encoder=(), cross=(), decoder=()):
    """Weights that are 0 but for some: row, key and weight."""
    shapes = [(3, 3), (4, 3), (4, 4)]
    found = [torch.zeros(shape) for shape in shapes]
    for table, entries in zip(found, (encoder, cross, decoder), strict=True):
        for row, key, weight in entries:
            table[row, key] = weight
    return dict(zip(KINDS, found, strict=True))


def levels(fig):
    """Where each word of each column stands, as text of the figure says it."""
    (ax,) = fig.axes
    found = {}
    for text in ax.texts:
        x, y = text.get_position()
        found.setdefault(round(x, 3), []).append((y, text.get_text()))
    return [[word for _, word in sorted(found[x])][1:] for x in COLUMNS], {
        x: sorted(y for y, _ in found[x])[1:] for x in COLUMNS
    }


def test_a_line_leads_from_the_row_that_asks_to_its_key():
    weights = tables(
        encoder=[(2, 0, 0.9)], cross=[(1, 2, 1.0)], decoder=[(3, 1, 0.5), (2, 0, 0.04)]
    )
    three_attentions(weights, SOURCE, TARGET, {"encoder self-attention": [2]})
    fig = drawn()
    words, at = levels(fig)
    assert words == [SOURCE, SOURCE, TARGET, ["▷", "hai", "mirru", "mirru"]]
    first, second, third, fourth = COLUMNS
    ends = [[(float(x), float(y)) for x, y in line.get_xydata()] for line in fig.axes[0].lines]
    assert ends == [
        [
            pytest.approx((second - ROOM, at[second][2])),
            pytest.approx((first + ROOM, at[first][0])),
        ],
        [
            pytest.approx((third - ROOM, at[third][1])),
            pytest.approx((second + ROOM, at[second][2])),
        ],
        [
            pytest.approx((third + ROOM, at[third][3])),
            pytest.approx((fourth - ROOM, at[fourth][1])),
        ],
    ]
    one, other, half = fig.axes[0].lines
    assert one.get_color() == BANDS["encoder self-attention"][2]
    assert other.get_color() == half.get_color() != one.get_color()
    assert other.get_linewidth() == pytest.approx(2 * half.get_linewidth())


def test_rows_that_are_followed_are_bold_and_heads_are_named():
    names = {kind: f"L0H{i}" for i, kind in enumerate(KINDS)}
    follow = {"encoder self-attention": [2], "cross-attention": [1]}
    three_attentions(tables(), SOURCE, TARGET, follow, names)
    fig = drawn()
    bold = [t.get_text() for t in fig.axes[0].texts if t.get_weight() == "bold"]
    assert bold == [
        *(f"{kind}\n{name}" for kind, name in names.items()),
        "balo",
        "mirru",
    ]
    assert {"source", "memory", "says", "has read"} <= said(fig)


def test_tables_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="the kinds are"):
        three_attentions({}, SOURCE, TARGET, {})
    with pytest.raises(ValueError, match="follow is of"):
        three_attentions(tables(), SOURCE, TARGET, {"other": [0]})
    with pytest.raises(ValueError, match=r"cross-attention.*\(4, 3\)"):
        three_attentions(tables() | {"cross-attention": torch.zeros(3, 4)}, SOURCE, TARGET, {})
    with pytest.raises(ValueError, match="row 9"):
        three_attentions(tables(), SOURCE, TARGET, {"cross-attention": [9]})
