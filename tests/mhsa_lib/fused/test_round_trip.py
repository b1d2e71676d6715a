"""Weights come in from the five stages and go out again, and no memory is shared."""

import pytest
import torch
from hypothesis import given
from torch import nn
from torch.testing import assert_close

from mhsa_book import costs
from mhsa_lib import FusedMultiHeadAttention
from mhsa_lib.stages import Attend, Split
from tests.helpers.drawn import cases, mha, rand
from tests.mhsa_lib.fused.pairs import fuse


@given(cases())
def test_to_attention_undoes_from_attention(case):
    back = fuse(case.attention).to_attention()
    assert back.state_dict().keys() == case.attention.state_dict().keys()
    for name, value in case.attention.state_dict().items():
        assert torch.equal(back.state_dict()[name], value)
    assert back.attend.scale == case.attention.attend.scale
    assert torch.equal(back(*case.inputs), case.attention(*case.inputs))


def test_a_fused_module_of_its_own_can_be_taken_apart():
    fused = FusedMultiHeadAttention(10, 3, d_head=8, bias=True, dropout=0.25).double().eval()
    attention, x = fused.to_attention(), rand(2, 5, 10)
    assert_close(attention(x), fused(x))
    assert not attention.training
    assert attention.attend.dropout.p == 0.25


def test_no_memory_is_shared_with_the_source():
    attention, x = mha(bias=True), rand(5, 12)
    fused = fuse(attention)
    back, before = fused.to_attention(), fused(x)
    for parameter in attention.parameters():
        parameter.data.zero_()
    assert torch.equal(fused(x), before)
    for parameter in fused.parameters():
        parameter.data.zero_()
    assert_close(back(x), before)


@pytest.mark.parametrize("bias", [False, True])
def test_it_has_the_same_number_of_parameters(bias):
    fused = FusedMultiHeadAttention(10, 3, d_head=8, bias=bias)
    expected = sum(costs.parameters(10, 3, d_head=8, bias=bias).values())
    assert sum(parameter.numel() for parameter in fused.parameters()) == expected


def test_dtype_mode_dropout_and_a_changed_scale_come_along():
    attention = mha(dropout=0.25).float().eval()
    attention.attend.scale = 0.1
    fused, x = fuse(attention), torch.randn(2, 5, 12)
    assert fused.W_QKV.weight.dtype is torch.float32
    assert not fused.training
    assert (fused.dropout, fused.scale) == (0.25, 0.1)
    assert_close(fused(x), attention(x))
    assert fuse(attention.train()).training


@pytest.mark.parametrize("stage", ["split", "attend", "W_O"])
def test_a_stage_without_a_fused_form_is_refused(stage):
    class OwnSplit(Split):
        def forward(self, q, k, v):
            return super().forward(q, k, v)

    class OwnAttend(Attend):
        def forward(self, q, k, v, mask=None):
            return super().forward(q, k, v, mask)

    own = {"split": OwnSplit(3), "attend": OwnAttend(0.5), "W_O": nn.Identity()}[stage]
    words = (
        rf"{stage}={type(own).__name__} has no fused form; only .* is known there: "
        "use the five stages"
    )
    with pytest.raises(ValueError, match=words):
        fuse(mha(**{stage: own}))
