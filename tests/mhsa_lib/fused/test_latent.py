"""Fused latent attention is the function of the five stages, and its weights go in and out."""

import pytest
import torch
from torch import nn

from mhsa_lib import MultiHeadAttention, masks
from mhsa_lib.fused.latent import FusedLatentAttention
from mhsa_lib.variants import LatentAttention
from tests.helpers.drawn import filled, rand
from tests.mhsa_lib.fused.latents import assert_close, build, each, fuse

MASKS = {
    "none": None,
    "causal": masks.causal,
    "window": masks.sliding_window(2),
    "padding": masks.padding([5, 3]),
    "nothing": masks.causal & ~masks.causal,
}


@each
@pytest.mark.parametrize("name", MASKS)
def test_it_equals_the_five_stages(kind, name):
    attention, x = build(kind), rand(2, 5, 12)
    assert_close(fuse(attention)(x, mask=MASKS[name]), attention(x, mask=MASKS[name]))


@pytest.mark.parametrize("lengths", [(1, 5), (2, 5), (5, 5), (5, 2)], ids=str)
def test_it_equals_them_on_a_context(lengths):
    attention, (x, context) = build("plain"), (rand(2, n, 12) for n in lengths)
    for mask in (None, masks.causal):
        assert_close(fuse(attention)(x, context, mask), attention(x, context, mask))


@each
def test_gradients_are_those_of_the_five_stages(kind):
    attention, x = build(kind), rand(2, 5, 12)
    fused = fuse(attention)
    for module in (attention, fused):
        module(x, mask=masks.causal).square().sum().backward()
    for name, parameter in attention.named_parameters():
        assert_close(fused.attention.get_parameter(name).grad, parameter.grad, atol=1e-8)


def test_weights_go_in_and_come_out_and_no_memory_is_shared():
    attention, x = build("latent queries"), rand(2, 5, 12)
    fused = fuse(attention)
    back, before = fused.to_attention(), fused(x)
    for parameter in attention.parameters():
        parameter.data.zero_()
    assert torch.equal(fused(x), before)
    for parameter in fused.parameters():
        parameter.data.zero_()
    assert_close(back(x), before)


def test_dropout_is_on_in_training_and_off_in_eval():
    fused, x = fuse(filled(LatentAttention(12, 3, 5, 4, dropout=0.5))), torch.randn(2, 5, 12)
    assert not torch.equal(fused.train()(x), fused(x))
    assert torch.equal(fused.eval()(x), fused(x))


@pytest.mark.bothways
def test_what_has_no_latents_is_refused():
    with pytest.raises(TypeError, match="MultiHeadAttention has no fused form of latents"):
        FusedLatentAttention(MultiHeadAttention(12, 3))
    attention = build("plain")
    attention.W_O = nn.Identity()
    with pytest.raises(ValueError, match="W_O=Identity has no fused form of latents"):
        fuse(attention)
