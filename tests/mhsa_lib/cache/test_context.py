"""The context is projected once; what does not fit says so and leaves everything as it was."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_lib import MultiHeadAttention, edit, masks, trace
from mhsa_lib.cache import KVCache, kv_cache
from tests.helpers.drawn import mha, rand


def parts(attention, x, context, **options):
    return torch.cat([attention(token, context, **options) for token in x.split(1, dim=1)], 1)


def test_the_context_is_projected_once():
    attention, x, context, seen = mha(), rand(2, 4, 12), rand(2, 7, 12), []
    attention.project.W_K.register_forward_hook(
        lambda W, args, output: seen.append(args[0].shape[-2])
    )
    with kv_cache(attention, context=context):
        parts(attention, x, context)
    assert seen == [7, 0, 0, 0]


def test_memory_for_the_context_is_allocated_as_large_as_it_is():
    attention, x, context = mha(), rand(2, 4, 12), rand(2, 7, 12)
    with kv_cache(attention, context=context, cache=KVCache(max_length=7)):
        y = parts(attention, x, context)
    assert_close(y, attention(x, context))


def test_padding_of_the_context_stays_out_of_sight():
    attention, x, context = mha(), rand(2, 4, 12), rand(2, 7, 12)
    mask = masks.key_padding([7, 3])
    whole = attention(x, context, mask=mask)
    with kv_cache(attention, context=context):
        assert_close(parts(attention, x, context, mask=mask), whole)
    context[1, 3:] = 1000
    with kv_cache(attention, context=context):
        assert_close(parts(attention, x, context, mask=mask), whole)


def test_context_may_be_given_by_position_or_by_name_and_be_of_another_width():
    attention = MultiHeadAttention(12, 3, d_context=8).double()
    x, context = rand(2, 2, 12), rand(2, 7, 8)
    whole = attention(x, context)
    with kv_cache(attention, context=context):
        one = attention(x[:, :1], context)
        other = attention(x=x[:, 1:], context=context)
    assert_close(torch.cat([one, other], dim=1), whole)


def test_a_trace_sees_that_nothing_new_is_projected():
    attention, x, context = mha(), rand(2, 2, 12), rand(2, 7, 12)
    with kv_cache(attention, context=context) as kept, trace(attention) as wires:
        attention(x[:, :1], context)
        assert wires.sizes["key"] == 7
        first = wires["weights"]
        attention(x[:, :1], context)
    assert wires["k"].shape == (2, 0, 12)
    assert torch.equal(wires["k_heads"], kept.wires["k_heads"])
    assert wires.sizes["new_key"] == 0
    assert wires.sizes["key"] == 7
    assert torch.equal(wires["weights"], first)


def test_a_trace_outside_sees_the_keys_that_are_used():
    attention, x, context = mha(), rand(2, 2, 12), rand(2, 7, 12)
    with trace(attention) as wires, kv_cache(attention, context=context) as kept:
        attention(x[:, :1], context)
        attention(x[:, :1], context)
    assert torch.equal(wires["k_heads"], kept.wires["k_heads"])
    assert wires["v_heads"].shape == (2, 3, 7, 4)


def test_an_edit_inside_changes_what_is_kept():
    attention, x, context = mha(), rand(2, 2, 12), rand(2, 7, 12)
    with edit(attention, "v_heads", torch.zeros_like), kv_cache(attention, context=context):
        edited = attention(x, context)
    assert edited.abs().max() == 0
    with kv_cache(attention, context=context):
        with edit(attention, "v_heads", torch.zeros_like):
            attention(x, context)
        assert attention(x, context).abs().max() == 0
    assert attention(x, context).abs().max() > 0


def test_gradients_reach_the_context_from_every_call():
    attention, x, context = mha(), rand(2, 3, 12), rand(2, 7, 12).requires_grad_()
    (expected,) = torch.autograd.grad(attention(x, context).square().sum(), context)
    with kv_cache(attention, context=context):
        y = parts(attention, x, context)
    (found,) = torch.autograd.grad(y.square().sum(), context)
    assert_close(found, expected)


def test_a_first_call_that_fails_decides_nothing():
    attention, x, context = mha(), rand(2, 1, 12), rand(2, 7, 12)
    with kv_cache(attention, context=context) as kept:
        with pytest.raises(ValueError, match="does not fit scores"):
            attention(x, context, mask=torch.ones(9, 9).bool())
        assert kept.wires == {}
        y = attention(x, context)
        with pytest.raises(ValueError, match="does not fit scores"):
            attention(x, context, mask=torch.ones(9, 9).bool())
        assert torch.equal(attention(x, context), y)
    assert_close(y, attention(x, context))


def test_a_context_of_inference_mode_is_remembered():
    attention, x = mha(), rand(2, 3, 12)
    with torch.inference_mode():
        context = rand(2, 7, 12)
        with kv_cache(attention, context=context):
            y = parts(attention, x, context)
        assert_close(y, attention(x, context))


def test_after_the_block_every_context_is_welcome():
    attention, x, context = mha(), rand(2, 1, 12), rand(2, 7, 12)
    with kv_cache(attention, context=context):
        attention(x, context)
    assert attention(x, rand(2, 5, 12)).shape == (2, 1, 12)
    assert [m for m in attention.modules() if m._forward_hooks or m._forward_pre_hooks] == []


BAD = {
    "no context": (
        lambda attention, x, context: attention(x),
        r"holds a context \(2, 7, 12\), but another tensor came, None; give the same one",
    ),
    "another": (
        lambda attention, x, context: attention(x, context.clone()),
        r"holds a context \(2, 7, 12\), but another tensor came, \(2, 7, 12\); give the same",
    ),
    "changed": (
        lambda attention, x, context: attention(x, context.mul_(2)),
        "the context or weights of MultiHeadAttention have changed since its keys were made",
    ),
    "another batch": (
        lambda attention, x, context: attention(rand(3, 1, 12), context),
        r"x has leading axes \(3,\) but context has \(2,\)",
    ),
}


@pytest.mark.bothways
@pytest.mark.parametrize("kind", BAD)
def test_a_call_with_something_else_says_so(kind):
    call, words = BAD[kind]
    attention, x, context = mha(), rand(2, 1, 12), rand(2, 7, 12)
    with kv_cache(attention, context=context):
        attention(x, context)
        with pytest.raises(ValueError, match=words):
            call(attention, x, context)


WEIGHTS = {
    "an optimizer step": lambda a: torch.optim.SGD(a.parameters(), lr=0.1).step(),
    "other numbers": lambda a: a.load_state_dict(mha().state_dict()),
    "other tensors": lambda a: a.load_state_dict(mha().state_dict(), assign=True),
    "other data": lambda a: setattr(a.project.W_K.weight, "data", torch.ones(12, 12).double()),
    "another precision": lambda a: a.float(),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_keys_of_weights_that_have_changed_are_refused(name):
    attention, x, context = mha(), rand(2, 1, 12), rand(2, 7, 12)
    with kv_cache(attention, context=context):
        attention(x, context).sum().backward()
        WEIGHTS[name](attention)
        words = "the context or weights of MultiHeadAttention have changed since its keys were"
        with pytest.raises(ValueError, match=words):
            attention(x, context)


@pytest.mark.bothways
def test_what_cannot_keep_a_context_says_so_at_once():
    attention, context = mha(), rand(2, 7, 12)
    words = "MultiHeadAttention has a cache already; use that of the with block around this one"
    for options in ({}, {"context": context}):
        with (
            kv_cache(attention, context=context),
            pytest.raises(ValueError, match=words),
            kv_cache(attention, **options),
        ):
            pass
    block = kv_cache(nn.Linear(2, 2), context=context)
    with pytest.raises(ValueError, match="holds no stages"), block:
        pass
    odd = kv_cache(MultiHeadAttention(12, 3, split=nn.Identity()), context=context)
    with pytest.raises(TypeError, match=r"name \[\], and no Stage is \['Identity'\]"), odd:
        pass
    narrow = kv_cache(attention, context=rand(2, 7, 8))
    with pytest.raises(ValueError, match="context is 8 wide"), narrow:
        pass
    placed = kv_cache(attention, positions=[[0, 1]], context=context)
    words = "a context has no positions and fills a cache once"
    with pytest.raises(ValueError, match=words), placed:
        pass
    forgets = kv_cache(attention, context=context, cache=KVCache(window=3))
    with pytest.raises(ValueError, match=words), forgets:
        pass


def test_a_cache_that_grows_refuses_a_context():
    attention, x, context = mha(), rand(2, 1, 12), rand(2, 7, 12)
    words = "a cache grows with x, but a context was given"
    with kv_cache(attention), pytest.raises(ValueError, match=words):
        attention(x, context)
