"""An arc is as thick as its weight, and ends at the two words that it joins."""

import matplotlib as mpl
import pytest
import torch
from matplotlib.patches import Arc

mpl.use("Agg")

import matplotlib.pyplot as plt

from mhsa_book import plots

WORDS = ["I", "saw", "it", "$x_"]


@pytest.fixture(autouse=True)
def no_open_figures():
    plt.close("all")
    yield
    plt.close("all")


def joined(ax):
    """Return the two words that every arc joins, and its thickness."""
    return [
        (arc.center[0] - arc.width / 2, arc.center[0] + arc.width / 2, arc.get_linewidth())
        for arc in ax.patches
        if isinstance(arc, Arc)
    ]


def test_an_arc_leads_from_the_last_word_to_each_word_with_a_weight():
    assert plots.arcs(torch.tensor([[0.25, 0.75, 0.0, 0.0]]), [WORDS]) is None
    (ax,) = plt.gcf().axes
    assert joined(ax) == [(0, 3, pytest.approx(1.5)), (1, 3, pytest.approx(4.5))]
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["I", "0.25", "saw", "0.75", "it", "0.00", "$x_", "0.00"]


def test_another_word_may_ask_and_look_at_itself():
    plots.arcs(torch.tensor([[0.0, 0.5, 0.0, 0.5]]), [WORDS], query=1)
    (ax,) = plt.gcf().axes
    (left, right, _), apart = joined(ax)
    assert left < 1 < right
    assert apart[:2] == (1, 3)
    assert [text.get_text() for text in ax.texts if text.get_weight() == "bold"] == ["saw"]


def test_every_sentence_has_a_row_and_everything_stays_on_the_page():
    plots.arcs(torch.eye(3, 4), [WORDS] * 3)
    fig = plt.gcf()
    fig.canvas.draw()
    assert len(fig.axes) == 3
    for text in (text for ax in fig.axes for text in ax.texts):
        assert text.get_fontsize() >= 9
        assert fig.bbox.containsx(text.get_window_extent().x1)


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (torch.ones(4) / 4, r"weights \(4,\) are not \(sentence, key\)"),
        (torch.ones(2, 4) / 4, r"with \[4\] words; give one row for each sentence"),
        (torch.ones(1, 3) / 3, r"weights \(1, 3\) .* one weight for each word"),
        (torch.full((1, 4), 8.0), r"outside \[0, 1\]; scores become weights by softmax"),
    ],
)
def test_a_mistake_names_the_sizes_and_a_repair_and_draws_nothing(weights, message):
    with pytest.raises(ValueError, match=message):
        plots.arcs(weights, [WORDS])
    assert not plt.get_fignums()
