"""A trace and an edit around a cache, and inside of it."""

import functools

import pytest
import torch
from torch.testing import assert_close

from mhsa_lib import KVCache, edit, masks, trace
from mhsa_lib.cache import kv_cache
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.cache.kinds import each, hooks
from tests.mhsa_lib.cache.pieces import decode


@each
@pytest.mark.parametrize("inside", [True, False])
def test_a_trace_sees_all_tokens_and_one_set_of_sizes(attention, inside):
    x = rand(2, 6, 12)
    outer, inner = (kv_cache, trace) if inside else (trace, kv_cache)
    with outer(attention) as one, inner(attention) as other:
        wires = other if inside else one
        attention(x[:, :5], mask=masks.causal)
        assert (wires.sizes["query"], wires.sizes["key"]) == (5, 5)
        assert "new_key" not in wires.sizes
        y = attention(x[:, 5:], mask=masks.causal)
    assert (wires.sizes["query"], wires.sizes["new_key"], wires.sizes["key"]) == (1, 1, 6)
    assert list(wires.steps["k"].axes) == ["batch", "new_key", "d_kv_heads"]
    with trace(attention) as expected:
        whole = attention(x, mask=masks.causal)
    assert_close(y, whole[:, 5:])
    assert_close(wires["weights"], expected["weights"][..., 5:, :])
    for name in attention.split.cached:
        assert_close(wires[name], expected[name])


def double(value):
    return value * 2


@each
@pytest.mark.parametrize("inside", [True, False])
def test_an_edit_of_every_token_is_that_edit_of_one_pass(attention, inside):
    x = rand(2, 5, 12)
    wire = attention.split.cached[0]
    with edit(attention, wire, double):
        expected = attention(x, mask=masks.causal)
    if inside:
        with kv_cache(attention), edit(attention, wire, double):
            found = [attention(part, mask=masks.causal) for part in x.split([3, 1, 1], dim=1)]
    else:
        with edit(attention, wire, double), kv_cache(attention):
            found = [attention(part, mask=masks.causal) for part in x.split([3, 1, 1], dim=1)]
    assert_close(torch.cat(found, dim=1), expected)


def test_an_edit_inside_changes_what_is_remembered_and_one_outside_does_not():
    attention, x = mha(), rand(2, 4, 12)
    with kv_cache(attention) as cache, edit(attention, "v_heads", torch.zeros_like):
        attention(x, mask=masks.causal)
    assert not cache.wires["v_heads"].any()
    with edit(attention, "v_heads", torch.zeros_like), kv_cache(attention) as cache:
        assert not attention(x, mask=masks.causal).any()
    assert cache.wires["v_heads"].all()


def test_the_first_token_can_be_cut_in_every_call_from_outside():
    def without_first(value):
        return torch.cat([torch.zeros_like(value[..., :1, :]), value[..., 1:, :]], dim=-2)

    attention, x = mha(), rand(2, 4, 12)
    with edit(attention, "v_heads", without_first):
        expected = attention(x, mask=masks.causal)
        found, _ = decode(attention, x, (2, 1, 1), masks.causal)
    assert_close(found, expected)


@each
def test_nothing_is_left_when_the_block_ends_or_breaks(attention):
    with kv_cache(attention):
        assert hooks(attention) > 0
    assert hooks(attention) == 0
    with pytest.raises(KeyError), kv_cache(attention):
        raise KeyError
    assert hooks(attention) == 0
    with kv_cache(attention), trace(attention), edit(attention, "z", double):
        attention(rand(2, 3, 12), mask=masks.causal)
    assert hooks(attention) == 0


@each
@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("room", [{}, {"max_length": 6}, {"window": 4}])
def test_what_a_trace_hands_out_may_be_overwritten(attention, inside, room):
    """The cache goes on from the keys and values that the tokens had."""
    x, rule = rand(2, 6, 12), masks.sliding_window(4)
    expected = attention(x, mask=rule)
    cached = functools.partial(kv_cache, cache=KVCache(**room))
    outer, inner = (cached, trace) if inside else (trace, cached)
    found = []
    with outer(attention) as one, inner(attention) as other:
        for part in x.split([3, 2, 1], dim=1):
            found.append(attention(part, mask=rule).clone())
            with torch.no_grad():
                for tensor in (other if inside else one).values():
                    tensor.detach().fill_(9)
    assert_close(torch.cat(found, dim=1), expected)
