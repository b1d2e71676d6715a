"""What a conversion copies along: what is frozen, missing biases, dropout and mode."""

import pytest
import torch
from torch import nn

from mhsa_book.conversions.to_plain import unshared
from mhsa_lib.variants import OverlappedAttention
from tests.helpers.drawn import mha, rand
from tests.helpers.refusing import fuse, refuses


def test_what_is_frozen_in_part_cannot_be_packed():
    attention = mha()
    attention.project.W_Q.requires_grad_(False)
    words = "W_K.weight learns and W_Q.weight is frozen, which cannot be in one W_QKV: let all"
    refuses(lambda: fuse(attention), words)
    assert not any(p.requires_grad for p in fuse(attention.requires_grad_(False)).parameters())


def test_a_missing_key_bias_does_nothing_so_it_may_be_packed():
    attention, x = mha(bias=True), rand(2, 5, 12)
    attention.project.W_K.bias = None
    fused = fuse(attention)
    torch.testing.assert_close(fused(x), attention(x))
    fused(x).square().sum().backward()
    of_keys = fused.W_QKV.bias.grad.chunk(3)[1]
    assert of_keys.abs().max() < 1e-12


@pytest.mark.parametrize("name", ["W_Q", "W_V"])
def test_a_missing_bias_that_would_learn_is_refused(name):
    attention, x = mha(bias=True), rand(2, 5, 12)
    getattr(attention.project, name).bias = None
    refuses(lambda: fuse(attention), f"learns and {name}.bias is None, which cannot be in one")
    torch.testing.assert_close(fuse(attention.requires_grad_(False))(x), attention(x))


def test_unshared_keeps_dropout_mode_and_every_bias():
    layer = OverlappedAttention(12, 3, 1, dropout=0.25, W_O=nn.Linear(18, 12)).double().eval()
    plain, x = unshared(layer), rand(2, 5, 12)
    torch.testing.assert_close(plain(x), layer(x))
    assert (plain.attend.dropout.p, plain.training) == (0.25, False)
    assert unshared(layer.train()).training
