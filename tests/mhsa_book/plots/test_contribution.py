"""What each head writes into y adds up to y."""

import pytest
import torch

from mhsa_book import plots
from mhsa_book.plots import contribution
from tests.mhsa_book.plots.figure import drawn
from tests.mhsa_book.plots.inputs import traced


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


def test_coordinates_can_have_names():
    names = ["a", "$b_", "living"]
    plots.contributions(torch.ones(1, 2, 2), torch.nn.Linear(2, 3), 0, [2, 1], names)
    (ax,) = drawn().axes
    assert [label.get_text() for label in ax.get_xticklabels()] == ["living", "$b_"]


def test_heads_are_told_apart_by_hatch_and_name_not_colour_alone():
    plots.contributions(torch.randn(12, 6, 4), torch.nn.Linear(48, 48))
    (ax,) = drawn().axes
    hatches = [bars[0].get_hatch() for bars in ax.containers[:12]]
    assert len(set(hatches)) == 12
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["sum: y", *(f"head {i}" for i in range(12)), "bias"]
