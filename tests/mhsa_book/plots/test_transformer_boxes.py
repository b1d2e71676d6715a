"""The drawing of a Transformer shows the model that it is given."""

import matplotlib.pyplot as plt
import pytest

from mhsa_book import plots
from mhsa_book.transformer import EncoderDecoder


@pytest.mark.parametrize("n_layers", [1, 3])
def test_every_layer_head_and_column_is_the_models(n_layers):
    plt.close("all")
    plots.encoder_decoder(EncoderDecoder(9, 9, 5, d_model=12, n_heads=3, n_layers=n_layers))
    (ax,) = plt.gcf().axes
    said = [text.get_text() for text in ax.texts]
    for kind in ("self-attention", "self-attention, causal mask", "cross-attention"):
        assert said.count(f"{kind}\n3 heads") == n_layers
    assert said.count("feed-forward part") == 2 * n_layers
    assert said.count(f"layer {n_layers - 1}") == 2
    assert said.count("words + positions,\n12 columns each") == 2
    plt.close("all")


def test_an_arrow_of_the_memory_ends_at_every_cross_attention_and_nowhere_else():
    plt.close("all")
    plots.encoder_decoder(EncoderDecoder(9, 9, 5, n_layers=3))
    (ax,) = plt.gcf().axes
    across = [t for t in ax.texts if hasattr(t, "arrow_patch") and t.xy[1] == t.xyann[1]]
    places = {t.get_position()[1] for t in ax.texts if t.get_text().startswith("cross")}
    assert {t.xy[1] for t in across} == places
    (memory,) = (t.get_position()[1] for t in ax.texts if t.get_text().startswith("memory"))
    assert [line.get_ydata()[0] for line in ax.lines] == [memory] * 3
    plt.close("all")
