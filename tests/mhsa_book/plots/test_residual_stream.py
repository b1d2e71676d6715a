"""The picture of the residual stream: sums that end at the logits, heads where they belong."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_hex

from mhsa_book import plots
from mhsa_book.plots.residual_stream import AGAINST, FOR
from tests.mhsa_book.models.small import LAYERS, small

TEXT, PAIR = "a bc the", ("e", "b")
HEADS = [(0, 1), (1, 0), (1, 3), (2, 2)]


@pytest.fixture
def panels():
    plt.close("all")
    plots.residual_stream(small(), TEXT, PAIR, HEADS)
    yield plt.gcf().axes
    plt.close("all")


def test_each_sum_starts_at_the_embedding_and_ends_at_the_logit(panels):
    lm = small()
    for token, line in zip(PAIR, panels[1].lines, strict=True):
        x, y = line.get_data()
        assert x[0] == pytest.approx(lm.contributions(TEXT, token).embedding, abs=1e-4)
        assert x[-1] == pytest.approx(lm.logits(TEXT)[-1, lm.id(token)].item(), abs=1e-3)
        assert len(x) == 1 + 2 * LAYERS
        assert (y[0], y[-1]) == (0, LAYERS)


def test_after_each_layer_the_sum_is_what_the_stream_then_says(panels):
    """The stream behind a layer along the token, over the last rms, without attribution."""
    lm, drawn = small(), panels[1].lines[0].get_xdata()
    streams = []
    layers = lm._runner.decoder.layers
    hooks = [
        layer.register_forward_hook(lambda m, a, out: streams.append(out)) for layer in layers
    ]
    last = lm._runner.stream(lm.ids(TEXT))[0, -1]
    for hook in hooks:
        hook.remove()
    norm, table = lm._runner.decoder.norm, lm._runner.decoder.embed.weight
    rms = (last.square().mean() + norm.eps).sqrt()
    for layer, stream in enumerate(streams):
        row = (stream[0] if isinstance(stream, tuple) else stream)[0, -1]
        wanted = row @ (norm.weight * table[lm.id(PAIR[0])]) / rms
        assert drawn[2 + 2 * layer] == pytest.approx(wanted.item(), abs=1e-3)


def test_a_head_is_drawn_from_the_row_it_attends_to_and_filled_if_it_helps(panels):
    lm, rows = small(), panels[0]
    tokens, weights = lm.attend(TEXT)
    last = len(tokens) - 1
    helps = {
        head: (lm.contributions(TEXT, "e").heads - lm.contributions(TEXT, "b").heads)[head] > 0
        for head in HEADS
    }
    dots = [line for line in rows.lines if line.get_marker() == "o"]
    slanted = [line for line in rows.lines if len({*line.get_xdata()}) == 2]
    sources = [int(weights[layer, head, -1].argmax()) for layer, head in HEADS]
    assert [line.get_xdata()[0] for line in slanted] == [s for s in sources if s != last]
    assert {line.get_xdata()[1] for line in slanted} <= {last}
    assert [dot.get_ydata()[0] for dot in dots] == [layer + 0.5 for layer, _ in HEADS]
    colours = [FOR[0] if helps[head] else AGAINST[0] for head in HEADS]
    assert [to_hex(dot.get_markeredgecolor()) for dot in dots] == colours
    assert len({*colours}) == 2  # both kinds occur here
    assert [text.get_text() for text in rows.texts] == ["L0H1", "L1H0, L1H3", "L2H2"]


def test_the_legend_says_which_look_raises_the_lead_of_the_first_token(panels):
    """And not for which token a head is: one that lowers the lead may be against both."""
    legend = panels[0].get_legend()
    assert legend.get_title().get_text() == "lead of e"
    assert [text.get_text() for text in legend.get_texts()] == ["raised", "lowered"]
    marks = [(to_hex(m.get_color()), m.get_linestyle()) for m in legend.legend_handles]
    assert marks == [FOR, AGAINST]
    dots = {to_hex(d.get_mec()): d.get_mfc() for d in panels[0].lines if d.get_marker() == "o"}
    assert all(dots[to_hex(m.get_color())] == m.get_mfc() for m in legend.legend_handles)
