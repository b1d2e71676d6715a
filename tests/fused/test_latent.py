"""Latent attention, fused: keys are made for a prompt, and latents decode."""

from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn, testing

from mhsa_lib import MultiHeadAttention, edit, masks, trace_ops
from mhsa_lib.cache.positions import left_padded
from mhsa_lib.cache.remembering import remember
from mhsa_lib.costs import variant_costs
from mhsa_lib.fused.latent import FusedLatentAttention
from mhsa_lib.variants import LatentAttention
from mhsa_lib.variants.latent import LatentAttend
from tests.helpers.drawn import filled, rand

assert_close = partial(testing.assert_close, rtol=0, atol=1e-10)

KINDS = {
    "plain": {},
    "latent queries": {"d_q_latent": 7, "bias": True},
    "no position": {"d_rope": 0},
    "wide values": {"d_head": 9, "d_nope": 3},
    "narrow values": {"d_head": 2, "d_nope": 5},
}
each = pytest.mark.parametrize("kind", KINDS)
kinds = st.sampled_from(list(KINDS))


def build(kind):
    attention = LatentAttention(12, 3, **{"d_latent": 5, "d_rope": 4} | KINDS[kind])
    return filled(attention).double().eval()


def fuse(attention):
    return FusedLatentAttention.from_attention(attention)


# --- the same function -----------------------------------------------------------------------

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


# --- decoding --------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), kinds)
def test_any_cut_is_one_pass(parts, kind):
    attention, x = build(kind), rand(2, sum(parts), 12)
    fused = fuse(attention)
    cache = fused.cache(2, sum(parts) + 1)
    found = [fused.prefill(part, cache) for part in x.split(parts, dim=1)]
    assert_close(torch.cat(found, dim=1), attention(x, mask=masks.causal))


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=5),
    st.integers(1, 6),
    kinds,
)
def test_a_ring_is_a_sliding_window_over_the_whole_text(parts, window, kind):
    attention, x = build(kind), rand(2, sum(parts), 12)
    fused = fuse(attention)
    cache = fused.cache(2, window=window)
    found = [fused.prefill(part, cache) for part in x.split(parts, dim=1)]
    assert_close(torch.cat(found, dim=1), attention(x, mask=masks.sliding_window(window)))


@given(st.tuples(st.integers(0, 4), st.integers(0, 4)), st.sampled_from([None, 2, 9]), kinds)
def test_ragged_prompts_then_tokens_are_as_if_alone(lengths, window, kind):
    attention, x, later = build(kind), rand(2, 4, 12), rand(2, 3, 12)
    fused = fuse(attention)
    cache = fused.cache(2, 7, window=window)
    y = fused.prefill(x, cache, lengths)
    steps = torch.cat([fused.step(token, cache) for token in later.split(1, dim=1)], dim=1)
    rule = masks.causal if window is None else masks.sliding_window(window)
    for item, length in enumerate(lengths):
        alone = attention(torch.cat([x[item, :length], later[item]]), mask=rule)
        assert_close(torch.cat([y[item, :length], steps[item]]), alone)


@each
def test_padding_may_come_first(kind):
    attention, x, later = build(kind), rand(2, 4, 12), rand(2, 2, 12)
    fused, positions = fuse(attention), left_padded([4, 2])
    cache = fused.cache(2, 6)
    cache.announce(positions)
    fused(x, mask=masks.causal, cache=cache)
    steps = torch.cat([fused.step(token, cache) for token in later.split(1, dim=1)], dim=1)
    for item, row in enumerate(positions):
        alone = attention(torch.cat([x[item, row >= 0], later[item]]), mask=masks.causal)
        assert_close(steps[item], alone[-2:])


@each
def test_a_drawn_mask_holds_for_made_keys_and_for_latents(kind):
    attention, x = build(kind), rand(2, 6, 12)
    fused, mask = fuse(attention), (torch.rand(2, 3, 6, 6) < 0.6).tril()
    cache, found = fused.cache(2, 6), []
    for start, end in ((0, 3), (3, 4), (4, 6)):
        part = mask[..., start:end, :end]
        found.append(fused(x[:, start:end], mask=part, cache=cache))
    assert_close(torch.cat(found, dim=1), attention(x, mask=mask))


@each
def test_it_keeps_what_remember_keeps_and_what_the_formula_counts(kind):
    attention, x = build(kind), rand(2, 5, 12)
    fused = fuse(attention)
    cache = fused.cache(2, 5)
    fused.prefill(x, cache)
    with remember(attention) as kept:
        attention(x, mask=masks.causal)
    rows = torch.cat([kept["latent"], kept["k_rope"]], dim=-1)
    assert_close(cache.memory["latent"][:, 0], rows)
    options = {"d_latent": 5, "d_rope": 4} | KINDS[kind]
    options.pop("bias", None)
    costs = variant_costs.latent(12, 3, n=1, **options)
    assert cache.bytes == kept.bytes == 2 * costs.cache_bytes(5, itemsize=8)


def test_a_step_makes_nothing_per_head_and_token():
    """No tensor as large as the keys of all heads, and the past is not copied."""
    fused = fuse(build("plain"))
    cache = fused.cache(1, 400)
    fused.prefill(rand(1, 300, 12), cache)
    where = cache.memory["latent"].data_ptr()
    ops = trace_ops(lambda: fused.step(rand(1, 1, 12), cache))
    scores = 3 * 301 * 8
    assert max(op.bytes for op in ops if op.result == "copy") <= scores
    assert cache.memory["latent"].data_ptr() == where


@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")
def test_under_autocast_the_latents_are_as_narrow_as_asked():
    fused, x = fuse(build("plain").float()), torch.randn(2, 6, 12)
    cache = fused.cache(2, 6, dtype=torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        found = [fused.prefill(x[:, :5], cache), fused.step(x[:, 5:], cache)]
    testing.assert_close(
        torch.cat(found, dim=1).float(), fused(x, mask=masks.causal), rtol=0.05, atol=0.2
    )


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.bothways
def test_what_has_no_latents_is_refused():
    with pytest.raises(TypeError, match="MultiHeadAttention has no fused form of latents"):
        FusedLatentAttention(MultiHeadAttention(12, 3))
    attention = build("plain")
    attention.W_O = nn.Identity()
    with pytest.raises(ValueError, match="W_O=Identity has no fused form of latents; only L"):
        fuse(attention)


@pytest.mark.bothways
def test_a_bad_call_leaves_the_cache_as_it_was():
    attention, x = build("plain"), rand(2, 4, 12)
    fused = fuse(attention)
    cache = fused.cache(2, 4)
    first = fused.prefill(x[:, :3], cache)
    for bad, words in (
        (lambda: fused.step(rand(3, 1, 12), cache), r"sequences of batch \(2,\)"),
        (
            lambda: fused.prefill(rand(2, 2, 12), cache),
            "4 tokens of a sequence, 3 have come and 2 more come",
        ),
        (lambda: fused(rand(2, 1, 12), rand(2, 1, 12), cache=cache), "a cache grows with x"),
        (lambda: fused.step(rand(2, 1, 8), cache), "x is 8 wide"),
        (
            lambda: fused(x[:, :1], mask=torch.ones(9).bool(), cache=cache),
            r"mask \(9,\) does not fit scores \(2, 3, 1, 4\)",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            bad()
    last = fused.step(x[:, 3:], cache)
    assert_close(torch.cat([first, last], dim=1), attention(x, mask=masks.causal))


# --- what is put around its parts ------------------------------------------------------------


def _fused_with_cache():
    fused = FusedLatentAttention.from_attention(
        filled(LatentAttention(12, 3, 4, 2)).double().eval()
    )
    return fused, fused.cache(batch=2, length=8)


def test_a_hook_on_what_could_be_absorbed_acts_at_every_step():
    fused, cache = _fused_with_cache()
    split, x = fused.attention.split, rand(2, 4, 12)
    for W in (split.W_UK, split.W_UV):
        W.register_forward_hook(lambda module, args, out: 2 * out)
    parts = [fused.prefill(x[:, :3], cache), fused.step(x[:, 3:], cache)]
    assert_close(torch.cat(parts, dim=1), fused(x, mask=masks.causal))


@pytest.mark.parametrize("wire", ["q_heads", "k_heads", "v_heads"])
def test_an_edit_of_split_acts_at_every_step(wire):
    fused, cache = _fused_with_cache()
    x = rand(2, 4, 12)
    with edit(fused, wire, torch.zeros_like):
        parts = [fused.prefill(x[:, :3], cache), fused.step(x[:, 3:], cache)]
        whole = fused(x, mask=masks.causal)
    assert_close(torch.cat(parts, dim=1), whole)


def _given(stage, forward):
    stage.forward = forward


NEVER_CALLED = {
    "attend with a forward of its own": lambda a: _given(a.attend, lambda q, k, v, mask: 0 * q),
    "another attend": lambda a: setattr(a, "attend", type("Own", (LatentAttend,), OWN)(1.0)),
    "another concat": lambda a: setattr(a, "concat", nn.Identity()),
    "a hook of the backward pass": lambda a: a.attend.register_full_backward_hook(print),
}
OWN = {"forward": lambda self, q, k, v, mask: 0 * q}


@pytest.mark.bothways
@pytest.mark.parametrize("name", NEVER_CALLED)
def test_another_stage_that_would_never_be_called_is_refused(name):
    fused, _ = _fused_with_cache()
    NEVER_CALLED[name](fused.attention)
    with pytest.raises(ValueError, match="never calls it; use to_attention"):
        fused(rand(2, 1, 12))


def test_so_does_a_bias_that_was_added():
    attention = LatentAttention(12, 3, 4, 2).double().eval()
    for name in ("W_UK", "W_UV"):
        W = getattr(attention.split, name)
        setattr(attention.split, name, nn.Linear(W.in_features, W.out_features).double())
    fused, x = FusedLatentAttention.from_attention(filled(attention)), rand(2, 4, 12)
    cache = fused.cache(batch=2, length=8)
    parts = [fused.prefill(x[:, :3], cache), fused.step(x[:, 3:], cache)]
    assert_close(torch.cat(parts, dim=1), attention(x, mask=masks.causal))


@pytest.mark.bothways
@pytest.mark.parametrize("wire", ["scores", "weights", "z", "concat", "y"])
def test_an_edit_of_a_stage_that_is_never_called_is_refused(wire):
    fused, cache = _fused_with_cache()
    x = rand(2, 1, 12)
    with edit(fused, wire, torch.zeros_like):
        for call in (lambda: fused(x), lambda: fused.step(x, cache)):
            with pytest.raises(ValueError, match="never calls it; use to_attention"):
                call()
    fused(x)


def test_dropout_is_in_the_mode_of_its_own():
    attention = LatentAttention(12, 3, 4, 2, dropout=0.5).double().train()
    fused, x = FusedLatentAttention(attention), rand(2, 5, 12)
    fused.attention.attend.dropout.eval()
    assert torch.equal(fused(x), fused(x))


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
