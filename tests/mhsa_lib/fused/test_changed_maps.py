"""What is put around a linear map, or done to it, is done at every length."""

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrize

from mhsa_lib import FusedMultiHeadAttention, KVCache, masks
from tests.mhsa_lib.fused.pairs import LENGTHS, both, passes, same


def maps(a):
    """(module, name) of every linear map."""
    if isinstance(a, FusedMultiHeadAttention):
        return [(a, name) for name, _ in a.named_children()]
    return [(a.project, "W_Q"), (a.project, "W_K"), (a.project, "W_V"), (a, "W_O")]


class Adapted(nn.Module):
    """As adapters do it: the map, and something more."""

    def __init__(self, W):
        super().__init__()
        self.W, self.in_features = W, W.in_features

    @property
    def weight(self):
        return self.W.weight

    def forward(self, x):
        return self.W(x) + 1.0


class Doubled(nn.Module):
    def forward(self, weight):
        return 2.0 * weight


def hooked(owner, name):
    getattr(owner, name).register_forward_hook(lambda module, args, y: 2.0 * y + 1.0)


def hooked_before(owner, name):
    getattr(owner, name).register_forward_pre_hook(lambda module, args: (args[0] + 1.0,))


def wrapped(owner, name):
    setattr(owner, name, Adapted(getattr(owner, name)))


def parametrized(owner, name):
    W = getattr(owner, name)
    parametrize.register_parametrization(W, "weight", Doubled())


def normed(owner, name):
    """By the old weight_norm, whose weight is made anew before each call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        W = nn.utils.weight_norm(getattr(owner, name))
    W.weight_g.data.mul_(2.0)


def another_forward(owner, name):
    W = getattr(owner, name)
    W.forward = lambda x: F.linear(x, W.weight) - 1.0


CHANGES = [hooked, hooked_before, wrapped, parametrized, normed, another_forward]


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("d_context", [None, 9])
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_done_to_a_map_is_done_at_every_length(change, d_context, n, grad):
    fused, attention = both(d_context=d_context)
    for a in (fused, attention):
        for owner, name in maps(a):
            change(owner, name)
    with torch.set_grad_enabled(grad):
        same(passes(fused, n), passes(attention, n))


@pytest.mark.parametrize("n", LENGTHS)
@torch.no_grad()
def test_a_hook_of_all_modules_is_heard_at_every_length(n):
    fused, attention = both()

    def twice(module, args, y):
        return 2.0 * y if isinstance(module, nn.Linear) else None

    handle = nn.modules.module.register_module_forward_hook(twice)
    try:
        same(passes(fused, n), passes(attention, n))
    finally:
        handle.remove()


def test_a_backward_hook_hears_of_cross_attention():
    fused, heard = both()[0], []
    fused.W_QKV.register_full_backward_hook(lambda *_: heard.append(1))
    x, context = (torch.randn(2, n, 12, requires_grad=True) for n in (3, 4))
    fused(x, context).sum().backward()
    assert heard


def test_a_wrapper_without_a_weight_works():
    fused, _ = both()
    expected = fused(x := torch.randn(2, 3, 12)) + 1.0
    fused.W_O = nn.Sequential(fused.W_O)
    fused.W_O.register_forward_hook(lambda module, args, y: y + 1.0)
    torch.testing.assert_close(fused(x), expected)
    cache = KVCache(max_length=4)
    torch.testing.assert_close(
        fused(x, mask=masks.causal, cache=cache), fused(x, mask=masks.causal)
    )
