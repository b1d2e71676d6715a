"""Every layer is a cell, and its filled height, disc or dot says its kind without colours."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.patches import Circle, Rectangle

from mhsa_book.costs.models_2026 import KINDS, MODELS, find
from mhsa_book.plots import layer_map as module
from mhsa_book.plots.layer_map import layer_map


def patches(kind):
    return [p for p in plt.gca().patches if isinstance(p, kind)]


def test_a_cell_for_every_layer_and_every_entry_of_the_key():
    plt.close("all")
    layer_map(MODELS, {"128k": 131_072, "1M": 1_048_576})
    frames = [p for p in patches(Rectangle) if p.get_facecolor()[3] == 0]
    layers = sum(len(model.layers) for model in MODELS)
    assert len(frames) == layers + len(KINDS)
    assert len({(round(p.get_x(), 6), round(p.get_y(), 6)) for p in frames}) == len(frames)
    texts = [text.get_text() for text in plt.gca().texts]
    assert [name for name in texts if name in {m.name for m in MODELS}] == [
        model.name for model in MODELS
    ]
    assert "128k 16.8 · 1M 134 GiB" in texts
    assert "128k 4.5 · 1M (36) GiB" in texts  # gpt-oss is not made for a million tokens
    plt.close("all")


def test_the_shapes_tell_the_kinds_apart_without_colour():
    plt.close("all")
    layer_map([find("DeepSeek-V4.1-Flash"), find("Qwen3.5-35B-A3B")], {"128k": 131_072})
    shapes = {}
    for kind in KINDS:
        filled = {round(module.HEIGHT.get(kind, 0.2), 2)} if kind != "borrowed" else set()
        shapes[kind] = (kind == "state", "chosen" in kind or kind == "borrowed", *filled)
    assert len(set(shapes.values())) == len(KINDS)
    discs = [p for p in patches(Circle) if p.radius == 0.3]
    dots = [p for p in patches(Circle) if p.radius == 0.13]
    assert len(discs) == 30 + 1
    assert len(dots) == 4 + 34 + 3  # and three of the key
    plt.close("all")


def test_a_map_of_nothing_is_refused():
    with pytest.raises(ValueError, match="models is empty"):
        layer_map([], {})
