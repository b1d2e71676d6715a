"""A square for each query and key of a mask, or for each case of a wall of results."""

import pytest
import torch
from matplotlib.colors import to_hex

from mhsa_book import plots
from mhsa_lib import masks
from tests.mhsa_book.plots.figure import drawn, said


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
    plots.comparison_table(results, {"none": 1e-5, "causal": 1e-13})
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
