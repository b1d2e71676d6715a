"""What is left when a wire is cut, swapped or alone."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_lib import edit, trace
from tests.helpers.drawn import mha, rand


@pytest.mark.parametrize("wire", ["v", "v_heads", "weights", "z", "concat"])
def test_what_carries_values_cut_leaves_only_the_output_bias(wire):
    attention, x = mha(bias=True), rand(2, 5, 12)
    with edit(attention, wire, torch.zeros_like):
        assert_close(attention(x), attention.W_O.bias.expand(2, 5, 12))


@pytest.mark.parametrize("wire", ["q", "k", "q_heads", "k_heads", "scores"])
def test_what_carries_scores_cut_leaves_the_plain_average(wire):
    attention, x = mha(), rand(2, 5, 12)
    with edit(attention, wire, torch.zeros_like), trace(attention) as wires:
        y = attention(x)
    assert_close(wires["weights"], torch.full((2, 3, 5, 5), 1 / 5).double())
    mean = attention.project.W_V(x).mean(dim=1, keepdim=True)
    assert_close(y, attention.W_O(mean).expand(2, 5, 12))


def test_the_output_cut_is_zero():
    attention = mha(bias=True)
    with edit(attention, "y", torch.zeros_like):
        assert (attention(rand(5, 12)) == 0).all()


def test_swapping_two_heads_before_w_o_matters():
    attention, x = mha(), rand(2, 5, 12)
    with edit(attention, "z", lambda z: z[:, [1, 0, 2]]):
        swapped = attention(x)
    assert not torch.allclose(swapped, attention(x))
    d = attention.d_head
    rows_swapped = torch.cat(
        [attention.W_O.weight[:, i * d : (i + 1) * d] for i in (1, 0, 2)], 1
    )
    attention.W_O.weight.data = rows_swapped
    assert_close(attention(x), swapped)


def test_the_output_is_the_sum_of_what_each_head_writes():
    attention, x = mha(), rand(2, 5, 12)
    alone = []
    for i in range(3):
        only = torch.zeros(3, 1, 1).double().index_fill(0, torch.tensor(i), 1.0)
        with edit(attention, "z", lambda z, only=only: z * only):
            alone.append(attention(x))
    assert_close(sum(alone), attention(x))


def test_values_come_from_the_context_and_queries_from_x():
    attention, x, context = mha(), rand(2, 5, 12), rand(2, 7, 12)
    with trace(attention) as wires:
        attention(x, context)
    assert_close(wires["q"], attention.project.W_Q(x))
    assert_close(wires["k"], attention.project.W_K(context))
    assert_close(wires["v"], attention.project.W_V(context))
