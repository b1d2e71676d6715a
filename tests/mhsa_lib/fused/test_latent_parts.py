"""What is put around the parts of a fused latent attention acts, or is refused."""

import pytest
import torch
from torch import nn

from mhsa_lib import KVCache, edit, masks
from mhsa_lib.fused.latent import FusedLatentAttention
from mhsa_lib.stages import Attend
from mhsa_lib.variants import LatentAttention
from tests.helpers.drawn import filled, rand
from tests.mhsa_lib.fused.latents import assert_close


def _fused_with_cache():
    fused = FusedLatentAttention.from_attention(
        filled(LatentAttention(12, 3, 4, 2)).double().eval()
    )
    return fused, KVCache(max_length=8)


def test_a_hook_on_what_could_be_absorbed_acts_at_every_step():
    fused, cache = _fused_with_cache()
    split, x = fused.attention.split, rand(2, 4, 12)
    for W in (split.W_UK, split.W_UV):
        W.register_forward_hook(lambda module, args, out: 2 * out)
    parts = [fused(x[:, :3], mask=masks.causal, cache=cache), fused(x[:, 3:], cache=cache)]
    assert_close(torch.cat(parts, dim=1), fused(x, mask=masks.causal))


def test_so_does_a_bias_that_was_added():
    attention = LatentAttention(12, 3, 4, 2).double().eval()
    for name in ("W_UK", "W_UV"):
        W = getattr(attention.split, name)
        setattr(attention.split, name, nn.Linear(W.in_features, W.out_features).double())
    fused, x = FusedLatentAttention.from_attention(filled(attention)), rand(2, 4, 12)
    cache = KVCache(max_length=8)
    parts = [fused(x[:, :3], mask=masks.causal, cache=cache), fused(x[:, 3:], cache=cache)]
    assert_close(torch.cat(parts, dim=1), attention(x, mask=masks.causal))


@pytest.mark.parametrize("wire", ["q_heads", "k_heads", "v_heads"])
def test_an_edit_of_split_acts_at_every_step(wire):
    fused, cache = _fused_with_cache()
    x = rand(2, 4, 12)
    with edit(fused, wire, torch.zeros_like):
        parts = [fused(x[:, :3], mask=masks.causal, cache=cache), fused(x[:, 3:], cache=cache)]
        whole = fused(x, mask=masks.causal)
    assert_close(torch.cat(parts, dim=1), whole)


def test_dropout_is_in_the_mode_of_its_own():
    attention = LatentAttention(12, 3, 4, 2, dropout=0.5).double().train()
    fused, x = FusedLatentAttention(attention), rand(2, 5, 12)
    fused.attention.attend.dropout.eval()
    assert torch.equal(fused(x), fused(x))


def _given(stage, forward):
    stage.forward = forward


OWN = {"forward": lambda self, q, k, v, mask: 0 * q}

NEVER_CALLED = {
    "attend with a forward of its own": lambda a: _given(a.attend, lambda q, k, v, mask: 0 * q),
    "another attend": lambda a: setattr(a, "attend", type("Own", (Attend,), OWN)(1.0)),
    "another concat": lambda a: setattr(a, "concat", nn.Identity()),
    "a hook of the backward pass": lambda a: a.attend.register_full_backward_hook(print),
}


@pytest.mark.bothways
@pytest.mark.parametrize("name", NEVER_CALLED)
def test_another_stage_that_would_never_be_called_is_refused(name):
    fused, _ = _fused_with_cache()
    NEVER_CALLED[name](fused.attention)
    with pytest.raises(ValueError, match="never calls it; use to_attention"):
        fused(rand(2, 1, 12))


@pytest.mark.bothways
@pytest.mark.parametrize("wire", ["scores", "weights", "z", "concat", "y"])
def test_an_edit_of_a_stage_that_is_never_called_is_refused(wire):
    fused, cache = _fused_with_cache()
    x = rand(2, 1, 12)
    with edit(fused, wire, torch.zeros_like):
        for call in (lambda: fused(x), lambda: fused(x, cache=cache)):
            with pytest.raises(ValueError, match="never calls it; use to_attention"):
                call()
    fused(x)


@pytest.mark.bothways
def test_what_was_added_is_not_lost_on_the_way_back():
    fused, _ = _fused_with_cache()
    fused.attention.attend.scores.register_forward_hook(lambda module, args, out: 2 * out)
    with pytest.raises(ValueError, match=r"attend\.scores has a hook, .* has no form in"):
        fused.to_attention()
    fused, _ = _fused_with_cache()
    fused.register_forward_hook(lambda module, args, out: 2 * out)
    with pytest.raises(ValueError, match="FusedLatentAttention has a hook"):
        fused.to_attention()
