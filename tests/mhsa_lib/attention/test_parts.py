"""What multi-head attention is made of: four maps, five stages, a scale."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_lib import MultiHeadAttention
from tests.helpers.drawn import mha, rand


def test_the_transposed_weight_is_the_w_of_the_formulas():
    attention, x = mha(4, 1), rand(3, 4)
    W_Q, W_K, W_V, W_O = (
        W.weight.T
        for W in (
            attention.project.W_Q,
            attention.project.W_K,
            attention.project.W_V,
            attention.W_O,
        )
    )
    A = torch.softmax((x @ W_Q) @ (x @ W_K).T / 2, dim=-1)
    assert_close(attention(x), A @ (x @ W_V) @ W_O)


def test_parameters_are_four_linear_maps():
    names = {name for name, _ in mha(bias=True).named_parameters()}
    maps = "project.W_Q", "project.W_K", "project.W_V", "W_O"
    assert names == {f"{W}.{part}" for W in maps for part in ("weight", "bias")}
    assert {name for name, _ in mha().named_parameters()} == {f"{W}.weight" for W in maps}


def test_d_head_is_d_model_over_n_heads_or_free():
    assert MultiHeadAttention(12, 3).d_head == 4
    free = MultiHeadAttention(10, 3, d_head=8)
    assert free.project.W_Q.weight.shape == (24, 10)
    assert free.W_O.weight.shape == (10, 24)
    assert free(torch.randn(2, 5, 10)).shape == (2, 5, 10)


def test_the_scale_is_one_over_the_root_of_d_head():
    assert MultiHeadAttention(12, 3).attend.scale == pytest.approx(0.5)
    assert MultiHeadAttention(10, 3, d_head=16).attend.scale == pytest.approx(0.25)


@pytest.mark.parametrize("stage", ["project", "split", "attend", "concat", "W_O"])
def test_a_stage_that_is_passed_in_is_the_one_that_runs(stage):
    standard = mha()
    own = getattr(standard, stage)
    attention = mha(**{stage: own})
    assert getattr(attention, stage) is own
    ran = []
    own.register_forward_hook(lambda *_: ran.append(stage))
    attention(rand(5, 12))
    assert ran == [stage]


@pytest.mark.parametrize("stage", ["project", "split", "attend", "concat", "W_O"])
def test_an_empty_container_is_a_stage_too(stage):
    empty = nn.Sequential()  # an identity; false where it is asked for its truth
    assert getattr(MultiHeadAttention(12, 3, **{stage: empty}), stage) is empty
