"""The picture of a language model shows the model and the text that it is given."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.patches import Rectangle

from mhsa_book import plots
from mhsa_book.plots import style
from tests.mhsa_book.models.small import HEADS, LAYERS, small

TEXT = "a bc"


@pytest.fixture
def ax():
    plt.close("all")
    plots.language_model(small(), TEXT)
    yield plt.gcf().axes[0]
    plt.close("all")


def test_sizes_tokens_and_probabilities_are_the_models(ax):
    lm, said = small(), [text.get_text() for text in ax.texts]
    likeliest = lm.next(TEXT, 3)
    assert f"{len(lm.tokens(TEXT))} tokens" in said
    assert any(f"a row of {lm.d_model} numbers" in each for each in said)
    assert sum(f"attention, {HEADS} heads" in each for each in said) == 2
    assert {"layer 0", f"layer {LAYERS - 1}"} <= {*said}
    assert any(f"{LAYERS - 2} more layer," in each for each in said)
    assert any(f"each of {len(lm.vocabulary()):,} tokens" in each for each in said)
    assert [f"{p:.2f}" for _, p in likeliest] == [t for t in said if t[:2] == "0."]


def test_a_bar_is_as_long_as_its_probability(ax):
    bars = [p for p in ax.patches if isinstance(p, Rectangle) and p.get_height() == 0.16]
    lengths = [bar.get_width() for bar in bars]
    wanted = [p for _, p in small().next(TEXT, 3)]
    assert [each / lengths[0] for each in lengths] == pytest.approx(
        [p / wanted[0] for p in wanted]
    )


def test_rows_meet_in_attention_alone_and_only_from_earlier_to_later(ax):
    n = len(small().tokens(TEXT))
    slanted = [line for line in ax.lines if len(set(line.get_xdata())) == 2]
    assert len(slanted) == 2 * n * (n - 1) // 2  # in the two layers that are drawn
    assert all(line.get_xdata()[0] < line.get_xdata()[1] for line in slanted)
    assert all(line.get_ydata()[0] < line.get_ydata()[1] for line in slanted)  # upwards
    dark = [line for line in slanted if line.get_color() == style.SERIES[0]]
    assert len(dark) == 2 * (n - 1)
    assert {line.get_xdata()[1] for line in dark} == {max(x.get_xdata()[1] for x in slanted)}
