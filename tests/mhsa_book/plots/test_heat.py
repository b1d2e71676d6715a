"""Weights share one scale from 0 to 1, and every number, token and head is in its place."""

from itertools import pairwise

import matplotlib.pyplot as plt
import pytest
import torch

from mhsa_book import examples, plots
from mhsa_book.plots import style
from mhsa_lib import masks, trace
from tests.mhsa_book.plots.figure import drawn, panels, said
from tests.mhsa_book.plots.inputs import TOKENS
from tests.mhsa_book.plots.pictures import PICTURES

ODD = [
    "$a_",
    "</script>",
    "\\",
    "אבג",
    "😀",
    "日本",
    "\n",
    "\x00",
    "x" * 1000,
    "",
    "‮",
    "a\u2028b",
]

WEIGHTS = pytest.mark.parametrize(
    "draw", [PICTURES[name] for name in ("heat_map", "heads", "layers_by_heads")]
)


@WEIGHTS
def test_all_weights_share_one_scale_from_0_to_1_and_one_colour_bar(draw):
    draw()
    fig = drawn()
    images = [ax.images[0] for ax in panels(fig)]
    assert {image.get_clim() for image in images} == {(0, 1)}
    assert {image.get_cmap().name for image in images} == {"weight"}
    assert len(fig.axes) - len(images) == 1
    (bar,) = set(fig.axes) - set(panels(fig))
    assert bar.get_ylabel() == "weight"
    assert [tick.get_text() for tick in bar.get_yticklabels()][::2] == ["0.00", "0.50", "1.00"]


def test_quiet_heads_are_not_stretched_to_look_loud():
    plots.heads(torch.stack([torch.full((3, 3), 0.01), torch.eye(3)]), TOKENS)
    quiet, loud = (ax.images[0] for ax in panels(drawn()))
    assert quiet.norm(0.01) == pytest.approx(0.01)
    assert loud.norm(1.0) == 1.0


def test_lightness_falls_in_equal_steps():
    rgb = torch.tensor(style.WEIGHT_MAP(torch.linspace(0, 1, 101).numpy()))[:, :3].double()
    linear = torch.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    luminance = linear @ torch.tensor([0.2126, 0.7152, 0.0722], dtype=torch.float64)
    lightness = 116 * luminance ** (1 / 3) - 16
    steps = -lightness.diff()
    assert lightness[0] > 95
    assert lightness[-1] < 20
    assert steps.min() > 0.6
    assert steps.max() < 1.1


def test_queries_run_down_and_keys_to_the_right():
    weights = torch.tensor([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0]])
    plots.heat_map(weights, ["ask", "again"], keys=["a", "b", "c"])
    (ax,) = panels(drawn())
    assert torch.equal(torch.tensor(ax.images[0].get_array().data), weights.double())
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("query", "key")
    assert [t.get_text() for t in ax.get_yticklabels()] == ["ask", "again"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["a", "b", "c"]
    assert ax.yaxis_inverted()


def test_rows_and_columns_can_be_something_else():
    plots.heat_map(torch.eye(2, 3), ["head 0", "head 1"], list("abc"), axes=("head", "word"))
    (ax,) = panels(drawn())
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("head", "word")


def test_small_heads_show_their_numbers_and_exact_zeros():
    plots.heat_map(torch.tensor([[1.0, 0.0], [0.001, 0.999]]), ["a", "b"])
    (ax,) = panels(drawn())
    assert [text.get_text() for text in ax.texts] == ["1.00", "0", "0.00", "1.00"]


def test_large_heads_show_no_numbers():
    plots.heat_map(torch.eye(9), list("abcdefghi"))
    assert not panels(drawn())[0].texts


def test_nan_is_hatched_and_named():
    weights = torch.eye(12)
    weights[2, 5] = float("nan")
    plots.heat_map(weights, list("abcdefghijkl"))
    fig = drawn()
    (mark,) = [patch for patch in panels(fig)[0].patches if patch.get_hatch()]
    assert mark.get_xy() == (4.5, 1.5)
    assert "weight (hatched: NaN)" in said(fig)


@pytest.mark.parametrize(
    ("n", "token"), [(1, "a"), (6, "x" * 1000), (9, "word"), (30, "word"), (100, "x" * 1000)]
)
def test_token_labels_neither_overlap_nor_leave_the_picture(n, token):
    plots.heat_map(torch.full((n, n), 1 / n), [token] * n)
    fig = drawn()
    (ax,) = panels(fig)
    for axis, labels in enumerate((ax.get_xticklabels(), ax.get_yticklabels())):
        boxes = [label.get_window_extent() for label in labels]
        assert all(fig.bbox.contains(box.x0, box.y0) for box in boxes)
        ends = sorted((box.min[axis], box.max[axis]) for box in boxes)
        assert all(left[1] <= right[0] + 1 for left, right in pairwise(ends))


def test_any_token_can_be_drawn():
    n = len(ODD)
    plots.heat_map(torch.eye(n), ODD, title="$x_{")
    fig = drawn()
    labels = [tick.get_text() for tick in panels(fig)[0].get_yticklabels()]
    assert labels == [
        "$a_", "</script>", "\\", "אבג", "😀", "□□", "\\n", "\\x00", "x" * 13 + "…", "",
        "\\u202e", "a\\u2028b",
    ]  # fmt: skip


def test_heads_are_titled_in_order():
    weights = torch.softmax(torch.randn(1, 5, 3, 3), dim=-1)
    plots.heads(weights, TOKENS)
    axes = panels(drawn())
    assert [ax.get_title() for ax in axes] == [f"head {i}" for i in range(5)]
    for ax, head in zip(axes, weights[0], strict=True):
        assert torch.equal(torch.tensor(ax.images[0].get_array().data), head.double())


def test_heads_take_titles_of_their_own():
    plots.heads(torch.eye(3).expand(2, 3, 3), TOKENS, titles=["ours", "theirs"])
    assert {"ours", "theirs"} <= said(drawn())


@pytest.mark.parametrize("draw", [plots.heads, plots.heat_map])
def test_a_table_that_is_not_of_queries_and_keys_names_its_own_axes(draw):
    draw(torch.eye(3)[None], TOKENS, label="share", axes=("kind", "head"))
    assert {"kind", "head", "share"} <= said(plt.gcf())
    assert not {"query", "key", "weight"} & said(plt.gcf())


def test_layers_run_down_and_heads_to_the_right():
    weights = torch.softmax(torch.randn(3, 4, 5, 5), dim=-1)
    plots.layers_by_heads(weights)
    axes = panels(drawn())
    for i, ax in enumerate(axes):
        image = torch.tensor(ax.images[0].get_array().data)
        assert torch.equal(image, weights[i // 4, i % 4].double())
    assert [ax.get_title() for ax in axes[:4]] == ["0", "1", "2", "3"]
    assert [ax.get_ylabel() for ax in axes[::4]] == ["0", "1", "2"]
    assert {"layer", "head"} <= said(drawn())


def test_the_running_example_is_drawn_as_it_is():
    mha = examples.attention()
    with torch.no_grad(), trace(mha) as wires:
        mha(examples.sentences()[0], mask=masks.causal)
    plots.heads(wires["weights"], examples.SENTENCES[0])
    assert set(examples.SENTENCES[0]) <= said(drawn())
