"""Our layers are PyTorch's pre-norm layers, padding included; parts are passed in."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_book.transformer import DecoderLayer, EncoderLayer, FeedForward
from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention, MultiQueryAttention, masks
from tests.helpers.drawn import filled, mha, rand
from tests.mhsa_book.transformer.theirs import decoder_layers, encoder_layers

EXACT = {"rtol": 0, "atol": 1e-10}
SOURCE, TARGET = [5, 2, 3], [4, 4, 1]  # lengths of three sentences


def ignored(lengths, n):
    """PyTorch's mask of padding: True is padding."""
    return torch.arange(n) >= torch.tensor(lengths)[:, None]


def test_the_encoder_layer_is_that_of_pytorch():
    theirs, ours = encoder_layers()
    x = rand(3, 5, 12)
    expected = theirs(x, src_key_padding_mask=ignored(SOURCE, 5))
    assert_close(ours(x, masks.key_padding(SOURCE)), expected, **EXACT)
    assert not torch.allclose(ours(x), expected)


def test_the_decoder_layer_is_that_of_pytorch():
    theirs, ours = decoder_layers()
    x, memory = rand(3, 4, 12), rand(3, 5, 12)
    expected = theirs(
        x,
        memory,
        tgt_mask=~masks.causal.dense(4, 4),
        memory_key_padding_mask=ignored(SOURCE, 5),
        tgt_key_padding_mask=ignored(TARGET, 4),
    )
    target_mask = masks.causal & masks.key_padding(TARGET)
    found = ours(x, memory, target_mask, masks.key_padding(SOURCE))
    assert_close(found, expected, **EXACT)
    assert not torch.allclose(ours(x, memory, target_mask), expected)
    real = ~ignored(TARGET, 4)  # behind the words, padding is out of sight anyway
    alone = ours(x, memory, memory_mask=masks.key_padding(SOURCE))
    assert_close(alone[real], expected[real], **EXACT)


def test_gradients_are_those_of_pytorch():
    theirs, ours = decoder_layers()
    x, memory = rand(3, 4, 12).requires_grad_(), rand(3, 5, 12).requires_grad_()
    causal = ~masks.causal.dense(4, 4)
    expected = torch.autograd.grad(theirs(x, memory, causal).square().sum(), (x, memory))
    found = torch.autograd.grad(ours(x, memory).square().sum(), (x, memory))
    assert_close(found, expected, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize(
    "kind", [FusedMultiHeadAttention.from_attention, lambda mha: mha], ids=["fused", "stages"]
)
def test_any_attention_may_stand_in_a_layer(kind):
    attention, feed_forward = mha(bias=True), filled(FeedForward(12, 20).double())
    x, memory, mask = rand(2, 4, 12), rand(2, 5, 12), masks.key_padding([5, 3])
    layer = DecoderLayer(kind(attention), kind(attention), feed_forward).double()
    plain = DecoderLayer(attention, attention, feed_forward).double()
    assert_close(layer(x, memory, memory_mask=mask), plain(x, memory, memory_mask=mask))
    many = EncoderLayer(MultiQueryAttention(12, 3).double(), feed_forward).double()
    assert many(memory, mask).shape == (2, 5, 12)


def test_the_memory_may_have_another_width():
    cross = MultiHeadAttention(12, 3, d_context=8)
    layer = DecoderLayer(MultiHeadAttention(12, 3), cross, FeedForward(12, 20))
    assert layer(torch.zeros(4, 12), torch.zeros(5, 8)).shape == (4, 12)


def test_the_activation_is_a_part():
    ours = FeedForward(12, 20, activation=nn.Identity()).double()
    x = rand(2, 5, 12)
    W = ours.W_2.weight @ ours.W_1.weight
    b = ours.W_2.weight @ ours.W_1.bias + ours.W_2.bias
    assert_close(ours(x), x @ W.T + b)
    assert not torch.allclose(FeedForward(12, 20).double()(x), ours(x))
