"""Panels: what a knob shows, in words where it goes wrong, and what stays without a kernel."""

import base64
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import matplotlib as mpl
import pytest
import torch

mpl.use("Agg")

import matplotlib.pyplot as plt

pytest.importorskip("ipywidgets")

from mhsa_lib import MultiHeadAttention, costs, panels, trace
from mhsa_lib.panels import describe_head, describe_shapes, head_panel, shape_panel

ROOT = Path(__file__).parent.parent


class Model:
    """Stands in for MiniLM: any words, 2 layers of 3 heads, the next token under head 1."""

    n_layers, n_heads = 2, 3

    def __repr__(self):
        return "model"

    def attend(self, text):
        tokens = text.split()
        if not tokens:
            raise ValueError(f"text {text!r} has no tokens; write at least one <word>.")
        n = len(tokens)
        weights = torch.eye(n).expand(2, 3, n, n).clone()
        weights[:, 1] = torch.eye(n).roll(1, dims=1)
        return tokens, weights


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def only(tag, page):
    (attrs,) = [attrs for name, attrs in Tags(page).found if name == tag]
    return attrs


# --- shapes ----------------------------------------------------------------------------------


def test_the_ledger_is_that_of_the_real_module():
    mha = MultiHeadAttention(12, 3)
    with torch.no_grad(), trace(mha) as wires:
        mha(torch.randn(2, 6, 12))
    assert wires._repr_html_() in describe_shapes(batch=2, seq=6, d_model=12, n_heads=3)


def test_totals_are_those_of_the_formulas():
    page = describe_shapes(batch=2, seq=32, d_model=64, n_heads=8)
    assert f"{sum(costs.parameters(64, 8).values()):,} parameters" in page
    assert f"{sum(costs.flops(32, 64, 8, batch=2).values()):,} FLOPs" in page
    assert f"{sum(costs.bytes_of(32, 64, 8, batch=2).values()):,} bytes" in page


def test_any_size_is_free():
    page = describe_shapes(batch=64, seq=100_000, d_model=16384, n_heads=128)
    assert "100000" in page.replace(",", "")


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((1, 4, 10, 4), "n_heads=4 does not divide d_model=10; try d_model=8 or d_model=12"),
        ((0, 4, 12, 3), "batch=0 is not a size"),
        ((1, 0, 12, 3), "seq=0 is not a size"),
        ((1, 4, 12, -3), "n_heads=-3 is not a size"),
    ],
)
def test_sizes_that_do_not_go_together_are_answered_in_words(sizes, message):
    page = describe_shapes(*sizes)
    assert message in page
    assert only("p", page) == {"role": "alert"}


def test_turning_a_knob_redraws():
    panel = shape_panel()
    before = panel.output.value
    panel.knobs["seq"].value = 8
    assert panel.output.value == describe_shapes(2, 8, 12, 3) != before
    panel.knobs["n_heads"].value = 5
    assert "does not divide" in panel.output.value
    panel.knobs["d_model"].value = 15
    assert panel.output.value == describe_shapes(2, 8, 15, 5)


def test_a_panel_may_start_beyond_its_sliders():
    assert shape_panel(seq=10_000).knobs["seq"].value == 10_000


def test_every_knob_says_what_it_is():
    names = [knob.description for knob in shape_panel().knobs.values()]
    assert names == ["batch", "sequence", "d_model", "n_heads"]
    assert [knob.description for knob in head_panel(Model()).knobs.values()] == [
        "text", "layer", "head",
    ]  # fmt: skip


@pytest.mark.bothways
def test_a_panel_refuses_to_start_with_no_size():
    with pytest.raises(ValueError, match="n_heads=0 is not a size"):
        shape_panel(n_heads=0)


# --- heads -----------------------------------------------------------------------------------


def png(page):
    return base64.b64decode(only("img", page)["src"].removeprefix("data:image/png;base64,"))


def test_a_head_is_an_image_that_says_where_queries_look():
    image = only("img", describe_head(Model(), "I saw it", layer=1, head=1))
    assert image["alt"] == (
        "Heat map of layer 1, head 1. "
        "Looks most at: I at saw (1.00), saw at it (1.00), it at I (1.00)."
    )
    assert png(describe_head(Model(), "I saw it", 1, 1)).startswith(b"\x89PNG")
    assert not plt.get_fignums()


def test_layers_and_heads_are_not_mixed_up():
    model = Model()
    assert png(describe_head(model, "a b c", 0, 0)) != png(describe_head(model, "a b c", 0, 1))
    weights = model.attend("a b c")[1]
    weights[1, 2] = weights[1, 1]
    model.attend = lambda text: (text.split(), weights)
    assert "a at b" in describe_head(model, "a b c", layer=1, head=2)
    assert "a at a" in describe_head(model, "a b c", layer=0, head=2)


def test_nan_stays_nan_and_only_zero_is_zero():
    steady = panels._steady(torch.tensor([0.0, 1e-9, 0.3333, float("nan")]))
    assert steady.isnan().tolist() == [False, False, False, True]
    assert steady[:3].tolist() == pytest.approx([0, 0.001, 0.33])


def test_the_text_of_a_long_picture_ends():
    alt = only("img", describe_head(Model(), "word " * 100, 0, 0))["alt"]
    assert alt.count("word at word") == panels.SPOKEN
    assert alt.endswith("and so on.")


def test_tokens_and_errors_are_text_never_markup():
    page = describe_head(Model(), "\"><script>alert(1)</script> 'b", 0, 0)
    assert [tag for tag, _ in Tags(page).found] == ["img"]
    page = describe_head(Model(), "  ", 0, 0)
    assert [tag for tag, _ in Tags(page).found] == ["p"]
    assert "write at least one &lt;word&gt;" in page


def test_turning_layer_head_or_text_redraws():
    panel = head_panel(Model(), text="I saw it")
    seen = [panel.output.value]
    for name, value in (("head", 1), ("layer", 1), ("text", "now you"), ("text", " ")):
        panel.knobs[name].value = value
        seen.append(panel.output.value)
    assert len(set(seen)) == len(seen)
    assert "no tokens" in seen[-1]


@pytest.mark.bothways
@pytest.mark.parametrize(("name", "n"), [("layer", 2), ("head", 3)])
def test_a_panel_refuses_a_layer_or_head_that_does_not_exist(name, n):
    with pytest.raises(ValueError, match=f"{name}={n} does not exist; model has 0 to {n - 1}"):
        head_panel(Model(), **{name: n})


def test_the_real_model_answers_in_a_panel():
    pytest.importorskip("transformers")
    from mhsa_lib import pretrained

    if pretrained._installed() is None:
        pytest.skip("MiniLM's weights are not installed")
    panel = head_panel(pretrained.load(), text="The cat sat", layer=0, head=2)
    assert "cat at the (1.00)" in panel.picture
    panel.knobs["text"].value = ""
    assert "no tokens" in panel.picture
    panel.knobs["text"].value = "word " * 600
    assert "602 tokens" in panel.picture
    assert "at most 512" in panel.picture


# --- without a kernel ------------------------------------------------------------------------


@pytest.mark.parametrize("make", [shape_panel, lambda: head_panel(Model())])
def test_a_panel_leaves_a_picture_for_readers_without_a_kernel(make):
    panel = make()
    bundle = panel._repr_mimebundle_()
    assert bundle["text/html"] == panel.picture
    assert bundle["text/plain"] == repr(panel)
    view = bundle["application/vnd.jupyter.widget-view+json"]
    assert view["model_id"] == panel.box.model_id


def test_a_panel_reads_the_same_every_time():
    assert repr(shape_panel()) == "shape_panel(batch=2, seq=6, d_model=12, n_heads=3)"
    assert repr(shape_panel()) == repr(shape_panel())


def test_another_process_draws_the_same_picture():
    code = (
        "import sys; sys.path[:0] = [{root!r}, {tests!r}]\n"
        "from test_panels import Model, describe_head\n"
        "print(describe_head(Model(), 'I saw it', 0, 1), end='')"
    ).format(root=str(ROOT), tests=str(ROOT / "tests"))
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    there = subprocess.check_output([sys.executable, "-c", code], text=True, env=environment)
    assert there == describe_head(Model(), "I saw it", 0, 1)
