"""The way back to nn.MultiheadAttention: same numbers, or a refusal."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from mhsa_lib import FusedMultiHeadAttention, GroupedQueryAttention, convert, masks
from mhsa_lib.masks import to_torch
from mhsa_lib.rope.rotary import Rotary, RotarySplit
from tests.helpers.drawn import filled, mha, rand
from tests.mhsa_lib.convert.precision import DTYPE, close
from tests.mhsa_lib.convert.sources import SIZE
from tests.mhsa_lib.convert.test_verification import halved


@given(SIZE, SIZE, SIZE, SIZE, st.booleans(), st.booleans(), DTYPE)
def test_it_gives_the_same_numbers(n_heads, d_head, n, n_key, bias, crossed, dtype):
    d_model = n_heads * d_head
    d_context = d_model + 1 if crossed else None
    ours = mha(d_model, n_heads, bias=bias, d_context=d_context).to(dtype)
    theirs = convert.to_torch(ours)
    x = rand(2, n, d_model).to(dtype)
    context = rand(2, n_key, ours.d_context).to(dtype)
    close(theirs(x, context, context)[0], ours(x, context))
    if not crossed:
        blocked = to_torch(masks.causal.dense(n, n))
        close(theirs(x, x, x, attn_mask=blocked)[0], ours(x, mask=masks.causal))


@pytest.mark.parametrize("options", [{}, {"bias": True}, {"d_context": 5, "bias": True}])
def test_there_and_back_nothing_changes(options):
    ours = mha(**options, dropout=0.25).train()
    state = torch.get_rng_state()
    theirs = convert.to_torch(ours)
    assert torch.equal(torch.get_rng_state(), state)
    again = convert.from_torch(theirs)
    assert theirs.batch_first
    assert (theirs.training, theirs.dropout, again.attend.dropout.p) == (True, 0.25, 0.25)
    found = again.state_dict()
    assert found.keys() == ours.state_dict().keys()
    assert all(torch.equal(found[name], value) for name, value in ours.state_dict().items())
    frozen = convert.to_torch(ours.eval().requires_grad_(False))
    assert not frozen.training
    assert not any(p.requires_grad for p in frozen.parameters())
    assert all(p.requires_grad for p in theirs.parameters())
    ours.project.W_Q.requires_grad_(True)
    learn = {n for n, p in convert.to_torch(ours).named_parameters() if p.requires_grad}
    packed = "q_proj_weight" if "d_context" in options else "in_proj_weight"
    assert learn == {packed, *(["in_proj_bias"] if "bias" in options else [])}


def other_scale(attention):
    attention.attend.scale = 1.0
    return attention


def no_output_bias(attention):
    attention.W_O.bias = None
    return attention


def hooked(attention):
    attention.W_O.register_forward_hook(print)
    return attention


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("build", "words"),
    [
        (
            lambda: mha(d_head=5),
            r"n_heads=3 of d_head=5, with attend.scale=0.447214, has no place in nn.Multihead"
            r"Attention: its heads are d_model=12 together, and its scale is 1/√d_head; keep",
        ),
        (
            lambda: other_scale(mha()),
            r"n_heads=3 of d_head=4, with attend.scale=1, has .*or multiply W_Q by the ratio",
        ),
        (
            lambda: mha(split=RotarySplit(3, Rotary(4))),
            r"split=RotarySplit has no place in nn.MultiheadAttention; only Split is known",
        ),
        (
            lambda: GroupedQueryAttention(12, 6, 2),
            r"split=GroupedSplit has no place in nn.MultiheadAttention; only Split is known",
        ),
        (
            lambda: no_output_bias(mha(bias=True)),
            r"3 of W_Q, W_K, W_V and W_O have a bias, but .* give the others one of zeros",
        ),
        (lambda: hooked(mha()), "W_O has a hook, print, which has no place"),
    ],
)
def test_what_has_no_place_there_is_refused(build, words):
    with pytest.raises(ValueError, match=words):
        convert.to_torch(build())


@pytest.mark.nohook  # the shape hook refuses a wrong Python type before we do
def test_another_class_is_refused():
    words = r"FusedMultiHeadAttention has no place in nn\.MultiheadAttention; only MultiHead"
    with pytest.raises(TypeError, match=words):
        convert.to_torch(FusedMultiHeadAttention(12, 3))


def test_what_computes_otherwise_there_is_found(monkeypatch):
    ours = filled(mha())
    monkeypatch.setattr(nn.MultiheadAttention, "forward", halved(nn.MultiheadAttention.forward))
    with pytest.raises(ValueError, match="MultiheadAttention and its conversion differ by"):
        convert.to_torch(ours)
    convert.to_torch(ours, verify=False)
