"""The pictures say what the numbers say, and stay readable."""

from itertools import pairwise

import matplotlib as mpl
import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from matplotlib.text import Text

mpl.use("Agg")

import matplotlib.pyplot as plt

from mhsa_lib import MultiHeadAttention, examples, masks, plots, trace
from mhsa_lib.costs.roofline import Rates
from mhsa_lib.plots import contribution, pipe, style
from mhsa_lib.results.experiments import Results
from mhsa_lib.shapes import AXIS_COLOURS

TOKENS = ["I", "saw", "it"]
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


@pytest.fixture(autouse=True)
def no_open_figures():
    plt.close("all")
    yield
    plt.close("all")


def drawn():
    """Return the one figure there is, with everything laid out."""
    assert len(plt.get_fignums()) == 1
    fig = plt.gcf()
    fig.canvas.draw()
    return fig


def panels(fig):
    return [ax for ax in fig.axes if ax.images]


def words(fig):
    return [text for text in fig.findobj(Text) if text.get_visible() and text.get_text()]


def said(fig):
    return {text.get_text() for text in words(fig)}


def tick_labels(fig):
    axes = [axis for ax in fig.axes for axis in (ax.xaxis, ax.yaxis)]
    return {label for axis in axes for label in axis.get_ticklabels(which="both")}


def traced(n_query=6, d_model=12, n_heads=3, device=None, bias=False, batch=()):
    mha = MultiHeadAttention(d_model, n_heads, bias=bias).to(device)
    with torch.no_grad(), trace(mha) as wires:
        mha(torch.randn(*batch, n_query, d_model, device=device), mask=masks.causal)
    return mha, wires


def demo(models, numbers):
    values, sizes = dict.fromkeys(models, numbers), dict.fromkeys(models, 5)
    return Results("demo", "?", "accuracy", tuple(range(len(numbers))), sizes, values, {})


PICTURES = {
    "heat_map": lambda: plots.heat_map(torch.eye(3), TOKENS, title="identity"),
    "heads": lambda: plots.heads(torch.eye(3).expand(5, 3, 3), TOKENS),
    "layers_by_heads": lambda: plots.layers_by_heads(torch.eye(3).expand(6, 12, 3, 3)),
    "pipeline": lambda: plots.pipeline(traced()[1]),
    "pipeline, large": lambda: plots.pipeline(traced(4096, 4096, 32, "meta", batch=(2, 3))[1]),
    "contributions": lambda: plots.contributions(
        torch.randn(12, 6, 4), torch.nn.Linear(48, 48), position=2
    ),
    "mask": lambda: plots.mask(masks.causal & masks.key_padding([5, 3]), 5),
    "mask, words": lambda: plots.mask(
        masks.key_padding([2, 3]), 2, 3, TOKENS, ["one $x_", "two"]
    ),
    "mask, large": lambda: plots.mask(masks.sliding_window(9), 64),
    "wall": lambda: plots.wall({"loops": {"none": 0.0}, "GPT-2": {"none": "always causal"}}),
    "wall, large": lambda: plots.wall(
        {f"implementation {i}": {f"case {j}": 3e-7 for j in range(18)} for i in range(9)}
    ),
    "curves": lambda: plots.curves([1, 2, 4], {"a": [1, 2, 4], "b": [1, 2, 3]}, "n", "s", "xy"),
    "seeds": lambda: plots.seeds(demo(["plain", "grouped"], (0.5, 0.7, 0.6))),
    "seeds, large": lambda: plots.seeds(
        demo([f"attention {i} $x_" + "x" * 60 for i in range(7)], (0.5,) * 8 + (0.9,))
    ),
    "roofline": lambda: plots.roofline(
        {"here": Rates(100e9, 25e9), "there $x_": Rates(989e12, 4.8e12)},
        {f"a stage $_{i} " + "x" * 60: (0.5 * 3**i, 1e9 * 3**i) for i in range(9)},
    ),
    "roofline, no points": lambda: plots.roofline({"here": Rates(100e9, 25e9)}),
    "bars": lambda: plots.bars({"W_Q": 144, "loss": -0.25}, "value"),
    "signed": lambda: plots.signed(torch.randn(3, 9, 3), list("abcdefghi"), TOKENS, TOKENS),
    "signed, large": lambda: plots.signed(
        torch.randn(4, 12, 12), TOKENS * 4, TOKENS * 4, ["head 0", "head 1", "head 2", "head 3"]
    ),
}
pictures = pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
WEIGHTS = pytest.mark.parametrize(
    "draw", [PICTURES[name] for name in ("heat_map", "heads", "layers_by_heads")]
)


@pictures
def test_a_call_draws_one_readable_figure_and_leaves_nothing_for_the_cell_to_print(draw):
    assert draw() is None
    fig = drawn()
    assert fig.get_figwidth() <= 8
    assert to_hex(fig.get_facecolor()) == "#ffffff"
    assert min(text.get_fontsize() for text in words(fig)) >= 9
    page = fig.bbox.padded(1)
    for text in set(words(fig)) - tick_labels(fig):
        (left, bottom), (right, top) = text.get_window_extent().get_points()
        assert page.contains(left, bottom), text
        assert page.contains(right, top), text


# --- weights ---------------------------------------------------------------------------------


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


def test_a_table_that_is_not_of_queries_and_keys_names_its_own_axes():
    plots.heads(torch.eye(3)[None], TOKENS, label="share", axes=("kind", "head"))
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


def test_a_signed_table_is_white_at_zero_and_says_every_sign():
    tables = torch.tensor([[[0.25, -0.5], [12.4, 0.0]]])
    plots.signed(tables, ["a", "b"], ["x", "y"], ["head 0"])
    (ax,) = panels(drawn())
    assert {"0.2", "−0.5", "12", "0"} <= {text.get_text() for text in ax.texts}
    low, high = ax.images[0].get_clim()
    assert (low, high) == pytest.approx((-12.4, 12.4))
    assert min(ax.images[0].cmap(0.5)) > 0.99


WRONG = {
    "batch": (lambda: plots.heat_map(torch.eye(3).expand(2, 3, 3), TOKENS),
              r"weights \(2, 3, 3\) are not \(query, key\); choose, for example weights\[0\]"),
    "axis": (lambda: plots.heads(torch.eye(3), TOKENS),
             r"weights \(3, 3\) are not \(head, query, key\); an axis is missing"),
    "empty": (lambda: plots.heat_map(torch.zeros(0, 3), []), r"weights \(0, 3\) are empty"),
    "tokens": (lambda: plots.heat_map(torch.eye(3), ["a", "b"]),
               r"2 tokens for 3 query positions.*give one token for each"),
    "keys": (lambda: plots.heat_map(torch.rand(2, 3), ["a", "b"]),
             r"2 tokens for 3 key positions.*keys="),
    "titles": (lambda: plots.heads(torch.eye(3).expand(2, 3, 3), TOKENS, titles=["one"]),
               r"titles has 1 entries for 2 heads"),
    "scores": (lambda: plots.heat_map(5 * torch.eye(3), TOKENS),
               r"outside \[0, 1\]: 5 is among them.*softmax"),
    "infinite": (lambda: plots.heat_map(torch.full((1, 1), float("inf")), ["a"]), "outside"),
    "no trace": (lambda: plots.pipeline(type(traced()[1])("MultiHeadAttention")),
                 "run a forward pass"),
    "z": (lambda: plots.contributions(torch.ones(2, 3, 6, 4), torch.nn.Linear(12, 12)),
          r"z \(2, 3, 6, 4\) is not \(head, query, d_head\); choose a sequence"),
    "W_O": (lambda: plots.contributions(torch.ones(3, 6, 4), torch.nn.Linear(10, 12)),
            r"3 heads of 4 columns, 12 in all, but W_O takes 10"),
    "position": (lambda: plots.contributions(torch.ones(3, 6, 4), torch.nn.Linear(12, 12), 6),
                 r"position=6 does not exist; there are 6 queries"),
    "coordinate": (lambda: plots.contributions(torch.ones(3, 6, 4), torch.nn.Linear(12, 8),
                   coordinates=[8]), r"coordinates \[8\] must lie in 0 to 7"),
    "mask sizes": (lambda: plots.mask(torch.ones(3, 3, dtype=torch.bool), 4),
                   r"mask \(3, 3\) is not .* n_query=4, n_key=4"),
    "mask tokens": (lambda: plots.mask(masks.causal, 2, tokens=TOKENS), "entries for 2"),
    "mask titles": (lambda: plots.mask(masks.causal, 2, titles=TOKENS), "entries for 1"),
    "no size": (lambda: plots.mask(masks.causal, 0), "n_query=0 is not a size"),
    "many masks": (lambda: plots.mask(torch.ones(9, 2, 2, dtype=torch.bool), 2), "9 pictures"),
    "no results": (lambda: plots.wall({}), "results is empty"),
    "ragged": (lambda: plots.wall({"a": {"x": 0.0}, "b": {"y": 0.0}}), r"'b' has the cases"),
    "tolerance": (lambda: plots.wall({"a": {"x": 0.0}}, {"y": 1.0}), r"no entry for \['x'\]"),
    "lengths": (lambda: plots.curves([1, 2], {"a": [1]}, "x", "y"), "1 values for 2"),
    "log": (lambda: plots.curves([1], {"a": [1]}, "x", "y", log="z"), "log='z' names no axes"),
    "no curve": (lambda: plots.curves([1], {}, "x", "y"), "ys is empty"),
    "no roof": (lambda: plots.roofline({}), "roofs is empty"),
    "no rate": (lambda: plots.roofline({"a": Rates(1.0, 1.0)}, {"softmax": (0.0, 1.0)}),
                r"'softmax' is \(0.0, 1.0\); both numbers have to be above 0"),
    "no bar": (lambda: plots.bars({}, "y"), "values is empty"),
    "signed names": (lambda: plots.signed(torch.ones(1, 2, 2), ["a"], ["x", "y"], ["t"]),
                     r"tables \(1, 2, 2\) are not .* = \(1, 1, 2\); name every table"),
    "signed NaN": (lambda: plots.signed(torch.tensor([[[torch.nan]]]), ["a"], ["x"], ["t"]),
                   "hold a NaN or an infinity; draw finite numbers"),
}  # fmt: skip


@pytest.mark.bothways
@pytest.mark.parametrize(("draw", "message"), WRONG.values(), ids=WRONG)
def test_a_mistake_names_the_sizes_and_a_repair_and_draws_nothing(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
    assert not plt.get_fignums()


# --- the pipeline ----------------------------------------------------------------------------


def fronts(ax):
    """Return the front sheet of every box, in order."""
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def test_every_wire_is_named_with_its_sizes():
    _, wires = traced(batch=(2,))
    plots.pipeline(wires)
    said_ = said(drawn())
    assert set(wires) <= said_
    assert {"batch 2", "head 3", "query 6", "key 6", "d_head 4", "d_model 12"} <= said_


def test_sides_grow_with_the_square_root_of_the_size():
    _, wires = traced(n_query=16, d_model=64, n_heads=1)
    plots.pipeline(wires)
    boxes = fronts(drawn().axes[0])
    by_shape = dict(zip(wires.steps, boxes, strict=True))
    q, scores = by_shape["q"], by_shape["scores"]
    assert q.get_width() == pytest.approx(pipe.LARGEST)
    assert q.get_width() / q.get_height() == pytest.approx(2)
    assert scores.get_width() == pytest.approx(scores.get_height())
    assert scores.get_height() == pytest.approx(q.get_height())


def test_views_are_dashed_copies_solid_and_query_by_key_filled():
    _, wires = traced(n_heads=1)
    plots.pipeline(wires)
    ax = drawn().axes[0]
    edges = [line for line in ax.lines if line.get_linewidth() == 2.6]
    drawn_as = {
        wire: edges[4 * i].get_linestyle() == "--" for i, wire in enumerate(wires.steps)
    }
    assert drawn_as == {wire: step.result == "view" for wire, step in wires.steps.items()}
    filled = [
        w for w, b in zip(wires, fronts(ax), strict=True) if to_hex(b.get_fc()) == pipe.GROWS
    ]
    assert filled == ["scores", "weights"]


def test_an_axis_keeps_its_colour_and_its_name():
    _, wires = traced(batch=(2,))
    plots.pipeline(wires)
    (legend,) = drawn().legends
    shown = {
        text.get_text().split()[0]: to_hex(handle.get_facecolor())
        for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True)
        if text.get_text().split()[0] in AXIS_COLOURS and "×" not in text.get_text()
    }
    expected = {axis: AXIS_COLOURS[axis] for axis in wires.sizes}
    assert shown == expected


def test_heads_are_sheets():
    _, three = traced(n_heads=3)
    plots.pipeline(three)
    assert len(fronts(drawn().axes[0])) == 5 + 6 * 3


# --- contributions ---------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [False, True])
def test_the_parts_of_a_coordinate_add_up_to_y(bias):
    mha, wires = traced(bias=bias)
    plots.contributions(wires["z"], mha.W_O, position=2, coordinates=[0, 5, 11])
    (ax,) = drawn().axes
    expected = wires["y"][2, [0, 5, 11]].tolist()
    diamonds = [line for line in ax.lines if line.get_marker() == "D"]
    assert list(diamonds[0].get_ydata()) == pytest.approx(expected, abs=1e-6)
    heights = torch.tensor([[bar.get_height() for bar in bars] for bars in ax.containers])
    assert heights.shape == (3 + bias, 3)
    assert heights.sum(dim=0).tolist() == pytest.approx(expected, abs=1e-6)


def test_each_part_is_what_its_head_alone_writes():
    mha, wires = traced()
    parts = contribution._parts(wires["z"][:, 4].double(), mha.W_O)
    for head in range(3):
        alone = torch.zeros_like(wires["z"])
        alone[head] = wires["z"][head]
        y = mha.W_O(mha.concat(alone))[4]
        torch.testing.assert_close(parts[f"head {head}"].float(), y)


def test_positive_parts_stack_up_and_negative_ones_down():
    z = torch.ones(3, 1, 1)
    W_O = torch.nn.Linear(3, 1, bias=False)
    W_O.weight.data = torch.tensor([[2.0, -1.0, 3.0]])
    plots.contributions(z, W_O)
    (ax,) = drawn().axes
    spans = [(bar[0].get_y(), bar[0].get_height()) for bar in ax.containers]
    assert spans == [(0, 2), (0, -1), (2, 3)]


def test_heads_are_told_apart_by_hatch_and_name_not_colour_alone():
    plots.contributions(torch.randn(12, 6, 4), torch.nn.Linear(48, 48))
    (ax,) = drawn().axes
    hatches = [bars[0].get_hatch() for bars in ax.containers[:12]]
    assert len(set(hatches)) == 12
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["sum: y", *(f"head {i}" for i in range(12)), "bias"]


# --- masks and walls -------------------------------------------------------------------------


def squares(ax):
    return {(int(p.get_x()), int(p.get_y())) for p in ax.patches}


def test_a_square_stands_where_a_query_may_look():
    plots.mask(masks.sliding_window(2), 3, 5)
    (ax,) = drawn().axes
    allowed = masks.sliding_window(2).dense(3, 5).nonzero().tolist()
    assert squares(ax) == {(key, query) for query, key in allowed}
    assert [t.get_text() for t in ax.get_yticklabels()] == ["2", "3", "4"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["0", "1", "2", "3", "4"]
    assert ax.yaxis_inverted()
    assert {"may look", "may not", "query", "key"} <= said(drawn())


def test_words_name_the_keys_and_the_last_of_them_the_queries():
    plots.mask(masks.key_padding([2, 3]), 2, 3, tokens=["I", "saw", "it"], titles=["a", "b"])
    first, second = drawn().axes
    for ax in (first, second):
        assert [t.get_text() for t in ax.get_xticklabels()] == ["I", "saw", "it"]
    assert [t.get_text() for t in first.get_yticklabels()] == ["saw", "it"]
    assert [ax.get_title() for ax in (first, second)] == ["a", "b"]


def test_each_sequence_of_a_padding_mask_is_drawn():
    plots.mask(masks.padding([2, 1]), 2)
    first, second = drawn().axes
    assert (len(squares(first)), len(squares(second))) == (4, 1)


def test_a_boolean_tensor_is_a_mask_too_and_numbers_are_not():
    plots.mask(masks.causal.dense(2, 2), 2)
    assert len(squares(drawn().axes[0])) == 3
    with pytest.raises(TypeError, match="bool"):
        plots.mask(torch.ones(2, 2), 2)


def test_the_wall_says_how_much_and_whether_it_passes():
    results = {
        "fused": {"none": 3e-7, "causal": 0.0},
        "broken": {"none": 0.3, "causal": float("nan")},
        "GPT-2": {"none": "always causal", "causal": 1e-12},
    }
    plots.wall(results, {"none": 1e-5, "causal": 1e-13})
    fig = drawn()
    (ax,) = fig.axes
    assert [text.get_text() for text in ax.texts] == [
        "3e-07 ✓", "0 ✓", "3e-01 ✗", "nan ✗", "– a", "1e-12 ✗",
    ]  # fmt: skip
    colours = [to_hex(patch.get_facecolor()) for patch in ax.patches]
    assert colours[0] == colours[1]
    assert colours[2] == colours[3] == colours[5]
    assert len({colours[0], colours[2], colours[4]}) == 3
    assert "a: always causal" in ax.get_xlabel()
    assert [t.get_text() for t in ax.get_yticklabels()] == list(results)
    assert [t.get_text() for t in ax.get_xticklabels()] == ["none", "causal"]


# --- charts ----------------------------------------------------------------------------------


def test_curves_are_named_at_their_ends_in_order_and_apart():
    ys = {"low": [1, 1.0], "high": [9, 9.0], "lower": [1, 0.99], "same": [1, 1.0]}
    plots.curves([0, 1], ys, "x", "y")
    (ax,) = drawn().axes
    boxes = {text.get_text(): Text.get_window_extent(text) for text in ax.texts}
    heights = sorted((box.y0, box.y1) for box in boxes.values())
    assert all(below[1] <= above[0] + 1 for below, above in pairwise(heights))
    order = sorted(boxes, key=lambda name: boxes[name].y0)
    assert order[0] == "lower"
    assert order[-1] == "high"
    assert len({line.get_marker() for line in ax.lines}) == 4


def test_log_axes_keep_the_sizes_as_ticks():
    plots.curves([64, 1024], {"a": [1, 100]}, "n", "s", log="xy")
    (ax,) = drawn().axes
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [t.get_text() for t in ax.get_xticklabels()] == ["64", "1,024"]


def test_bars_carry_their_values():
    plots.bars({"W_Q": 1048576, "loss": 0.12345}, "value")
    assert {"W_Q", "1,048,576", "0.123"} <= {word.strip() for word in said(drawn())}


def test_a_roof_bends_at_its_ridge_and_points_lie_where_they_were_measured():
    plots.roofline({"here": Rates(100e9, 25e9)}, {"W_O": (0.5, 1e10), "mix": (16.0, 9e10)})
    (ax,) = drawn().axes
    roof, first, second = ax.lines
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    low, bend, high = roof.get_xdata()
    assert bend == 4.0
    assert roof.get_ydata()[1:].tolist() == [100e9, 100e9]
    assert roof.get_ydata()[0] == pytest.approx(25e9 * low)
    assert low < 0.5
    assert high > 16
    assert [*first.get_xydata()[0], *second.get_xydata()[0]] == [0.5, 1e10, 16.0, 9e10]
    assert first.get_marker() != second.get_marker()
    assert {"here, ridge 4", "W_O", "mix"} <= said(plt.gcf())


def test_the_running_example_is_drawn_as_it_is():
    mha = examples.attention()
    with torch.no_grad(), trace(mha) as wires:
        mha(examples.sentence(), mask=masks.causal)
    plots.heads(wires["weights"], examples.SENTENCE)
    assert {"The", "cat", "sat", "on", "the", "mat"} <= said(drawn())
